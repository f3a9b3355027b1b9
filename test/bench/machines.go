package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/wire"
)

// What the machines' lines share: a shard whose machines are the fake provider's, its
// records in memory, and its authority, whose certificates are for loopback.

const machineConfig = `{
  "cluster": {"id": "bench"},
  "shard": {"name": "one", "provider": {"kind": "fake"}, "server": {"registration_addr": "127.0.0.1:8992", "agent_addr": "127.0.0.1:8994"}},
  "templates": {"small": {"kind": "wrk", "arch": "amd64", "vars": {"colour": "blue"}, "userdata": {"content": "#cloud-config\nwrite_files:\n- path: /var/lib/berth/agent/nonce.jwt\n  content: {{ .Nonce }}\n"}}},
  "groups": {"acme": {"web": {"template": "small"}}},
}`

type machineText string

func (s machineText) Read(context.Context) ([]byte, string, error) { return []byte(s), "1", nil }

// machines is the shard.
type machines struct {
	dir       string
	loader    *config.Loader
	secrets   secrets.Store
	memory    *storage.Memory
	authority *ca.Authority
	cloud     *fake.Cloud
	dbs       []*localdb.DB
}

// newMachines makes a shard. The caller closes what is returned, also after an error.
func newMachines(ctx context.Context) (_ *machines, err error) {
	m := &machines{secrets: secrets.NewMemory(), memory: storage.NewMemory(), cloud: fake.NewCloud(fake.Options{Now: time.Now})}
	if m.dir, err = os.MkdirTemp("", "berth-bench-"); err != nil {
		return m, err
	}
	if m.loader, err = config.NewLoader(config.LoaderOptions{Source: machineText(machineConfig)}); err != nil {
		return m, err
	}
	if err := m.loader.Refresh(ctx); err != nil {
		return m, err
	}
	if err := instances.EnsureNonceKey(ctx, m.secrets); err != nil {
		return m, err
	}
	m.authority, err = ca.Open(ctx, ca.Options{Storage: m.memory, Secrets: m.secrets, ClusterID: "bench"})
	return m, err
}

func (m *machines) close() error {
	var errs []error
	for _, db := range m.dbs {
		errs = append(errs, db.Close())
	}
	if m.dir != "" {
		errs = append(errs, os.RemoveAll(m.dir))
	}
	return errors.Join(errs...)
}

// manager leads the shard on a cache of its own, which is empty.
func (m *machines) manager(ctx context.Context, objects storage.Storage, readers int) (*instances.Manager, *localdb.DB, error) {
	db, err := localdb.Open(ctx, filepath.Join(m.dir, fmt.Sprintf("cache-%d.db", len(m.dbs))))
	if err != nil {
		return nil, nil, err
	}
	m.dbs = append(m.dbs, db)
	manager, err := instances.NewManager(instances.ManagerOptions{
		ConfigLoader: m.loader, SecretsStore: m.secrets, Storage: objects, LocalDB: db, Authority: m.authority,
		Provider: m.cloud.Provider(infra.Owner{ClusterID: "bench", Shard: "one"}), Readers: readers,
	})
	return manager, db, err
}

// certificate is one of the shard's authority, with its key.
func (m *machines) certificate(r ca.Request) (*tls.Certificate, error) {
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	r.PublicKey = public
	signed, err := m.authority.Issue(r)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(signed.PEM)
	return &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}, nil
}

// serverCertificate is the shard's own.
func (m *machines) serverCertificate() (func() (*tls.Certificate, error), error) {
	cert, err := m.certificate(ca.Request{Role: wire.RoleServer, Name: "bench", Hosts: []string{"127.0.0.1"}})
	return func() (*tls.Certificate, error) { return cert, nil }, err
}

func loopback(ctx context.Context) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
}
