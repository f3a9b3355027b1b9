package control

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// Nodes is the end of the connections that the agents of nodes open; internal/ingress/nodes
// has one.
type Nodes interface {
	// Use puts a valid cluster into use, once save has kept it; when it fails, all is as
	// it was. It answers the address at which agents are taken.
	Use(c table.Cluster, save func() error) (address string, err error)
	// Report is nil before there was a cluster.
	Report() *table.ClusterReport
}

// ClusterSaver keeps the cluster durably; internal/ingress/store is one.
type ClusterSaver interface {
	SaveCluster(table.Cluster) error
}

// cluster is what the plane knows of nodes.
type cluster struct {
	nodes Nodes // nil: this data plane reaches none
	saver ClusterSaver
	inUse *table.Cluster // nil: it was never told of any
}

// WithNodes has the plane take clusters. inUse is the one that was stored, nil for none;
// nodes uses it already. It is called before anything is served.
func (p *Plane) WithNodes(nodes Nodes, saver ClusterSaver, inUse *table.Cluster) {
	p.cluster = cluster{nodes: nodes, saver: saver, inUse: inUse}
}

var errNoNodes = errors.New("this data plane reaches no nodes")

// PushCluster makes c the cluster: durable, then in use. The same version with the same
// content is acknowledged again. Errors wrap the sentinels of package table; with any
// error the old one stays in use.
func (p *Plane) PushCluster(c table.Cluster) (table.ClusterAck, error) {
	if err := c.Validate(); err != nil {
		return table.ClusterAck{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k := &p.cluster
	switch have := k.inUse; {
	case k.nodes == nil:
		return table.ClusterAck{}, errNoNodes
	case p.frozen:
		return table.ClusterAck{}, errHandingOver
	case have == nil:
	case c.Version < have.Version:
		return table.ClusterAck{}, fmt.Errorf("%w: pushed version %d of the cluster, in use is %d", table.ErrOldVersion, c.Version, have.Version)
	case c.Version == have.Version && !c.Same(have):
		return table.ClusterAck{}, fmt.Errorf("%w: version %d of the cluster is in use with other content; a changed one needs a higher version", table.ErrSameVersion, c.Version)
	}
	address, err := k.nodes.Use(c, func() error {
		if err := k.saver.SaveCluster(c); err != nil {
			return fmt.Errorf("the cluster was not taken, it could not be saved: %w", err)
		}
		return nil
	})
	if err != nil {
		return table.ClusterAck{}, err
	}
	k.inUse = &c
	p.log.Info("cluster in use", "version", c.Version, "address", address, "denied", len(c.Denied))
	return table.ClusterAck{Epoch: p.hello.Epoch, Version: c.Version, Address: address}, nil
}

func (p *Plane) clusterReport() *table.ClusterReport {
	if p.cluster.nodes == nil {
		return nil
	}
	return p.cluster.nodes.Report()
}

func (s *Server) pushCluster(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, table.MaxClusterBytes))
	if err != nil {
		err = fmt.Errorf("%w: %w", table.ErrInvalid, err)
	}
	var c table.Cluster
	if err == nil {
		c, err = table.DecodeCluster(data)
	}
	if err == nil {
		var ack table.ClusterAck
		if ack, err = s.plane.PushCluster(c); err == nil {
			answer(w, http.StatusOK, ack)
			return
		}
	}
	s.log.Warn("push of the cluster refused", "version", c.Version, "error", err)
	refuse(w, err)
}
