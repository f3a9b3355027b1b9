package store

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

const clusterFile = "cluster.json"

// SaveCluster keeps what the agents of nodes are taken with, the private key included, in
// a file that this process's own user alone can read. It is as durable as Save.
func (s *Store) SaveCluster(c table.Cluster) error {
	body, err := table.EncodeCluster(c)
	if err != nil {
		return fmt.Errorf("encode the cluster: %w", err)
	}
	data, err := seal(body)
	if err != nil {
		return fmt.Errorf("encode the cluster's file: %w", err)
	}
	if err := s.replace(clusterFile, data); err != nil {
		return fmt.Errorf("save %s: %w", clusterFile, err)
	}
	return nil
}

// LoadCluster reads what SaveCluster kept; nil when there is none. A damaged file is moved
// aside to "cluster.json.damaged", and the error wraps [ErrDamaged].
func (s *Store) LoadCluster() (*table.Cluster, error) {
	data, err := s.fs.ReadFile(clusterFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", clusterFile, err)
	}
	c, err := openCluster(data)
	if err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrDamaged, clusterFile, err)
		return nil, errors.Join(err, s.fs.Rename(clusterFile, clusterFile+".damaged"))
	}
	return c, nil
}

func openCluster(data []byte) (*table.Cluster, error) {
	body, err := unseal(data)
	if err != nil {
		return nil, err
	}
	c, err := table.DecodeCluster(body)
	if err != nil {
		return nil, err
	}
	return &c, c.Validate()
}
