package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/netns"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/instances/storage"
)

const (
	module  = "github.com/berth-cloud/berth"
	tenant  = "acme"
	group   = "web"
	cleanup = 60 * time.Second
)

// stand is a shard in this process, and the folder in which everything of it is.
type stand struct {
	dir   string
	o     options
	log   *slog.Logger
	shard *shard.Shard
	owner infra.Owner
	infra infra.Provider
	opts  shard.Options
	// At which the shard listens; port 0 until it does for the first time.
	registrations, agents string

	undo []func(context.Context) error // in the order in which it was made
	stop func() error                  // ends the shard; nil: none runs
}

func newStand(ctx context.Context, o options) (_ *stand, err error) {
	dir, err := os.MkdirTemp("", "berth-e2emachines-")
	if err != nil {
		return nil, err
	}
	out := io.Discard
	if o.verbose {
		out = os.Stderr
	}
	s := &stand{dir: dir, o: o, log: slog.New(slog.NewTextHandler(out, nil)), owner: infra.Owner{ClusterID: "e2e", Shard: "one"}}
	s.undo = append(s.undo, func(context.Context) error { return os.RemoveAll(dir) })
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.o.node == "" {
		if s.o.node, err = s.build(ctx, "berth-node"); err != nil {
			return s, err
		}
	}
	if err := s.takeAddress(ctx); err != nil {
		return s, err
	}
	s.registrations, s.agents = net.JoinHostPort(o.address, "0"), net.JoinHostPort(o.address, "0")
	s.undo = append(s.undo, func(context.Context) error { return s.end() })
	return s, s.open(ctx)
}

func (s *stand) build(ctx context.Context, program string) (string, error) {
	binary := filepath.Join(s.dir, program)
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, module+"/cmd/"+program)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", program, err, out)
	}
	return binary, nil
}

// takeAddress gives this host the address at which every machine can reach it.
func (s *stand) takeAddress(ctx context.Context) error {
	ip := func(ctx context.Context, verb string) error {
		out, err := exec.CommandContext(ctx, "ip", "address", verb, s.o.address+"/32", "dev", "lo").CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip address %s %s: %w: %s", verb, s.o.address, err, out)
		}
		return nil
	}
	if err := ip(ctx, "add"); err != nil {
		return err
	}
	s.undo = append(s.undo, func(ctx context.Context) error { return ip(ctx, "del") })
	return nil
}

// open starts the shard, at the addresses that it had before.
func (s *stand) open(ctx context.Context) error {
	registrations, err := new(net.ListenConfig).Listen(ctx, "tcp4", s.registrations)
	if err != nil {
		return err
	}
	agents, err := new(net.ListenConfig).Listen(ctx, "tcp4", s.agents)
	if err != nil {
		return errors.Join(err, registrations.Close())
	}
	s.registrations, s.agents = registrations.Addr().String(), agents.Addr().String()
	if s.opts.Storage == nil {
		err = s.prepare()
	}
	if err == nil {
		s.shard, err = shard.Open(ctx, s.opts)
	}
	if err != nil {
		return errors.Join(err, registrations.Close(), agents.Close())
	}
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.shard.Serve(serving, registrations, agents) }()
	s.stop = func() error {
		cancel()
		return errors.Join(<-ended, s.shard.Close())
	}
	return s.shard.Manager.RebuildCache(ctx)
}

// end stops the shard, if it runs. What it made goes on.
func (s *stand) end() error {
	if s.stop == nil {
		return nil
	}
	err := s.stop()
	s.stop = nil
	return err
}

// prepare makes the bucket and the configuration.
func (s *stand) prepare() error {
	path, err := s.configure()
	if err != nil {
		return err
	}
	s.opts, err = s.options(path)
	return err
}

func (s *stand) options(path string) (o shard.Options, err error) {
	bucket := filepath.Join(s.dir, "bucket")
	if err := os.Mkdir(bucket, 0o700); err != nil {
		return o, err
	}
	objects, err := storage.OpenDirectory(bucket)
	if err != nil {
		return o, err
	}
	s.undo = append(s.undo, func(context.Context) error { return objects.Close() })
	key, err := secrets.NewKey(secrets.GenerateKey())
	if err != nil {
		return o, err
	}
	sealed, err := secrets.NewObjects(storage.Scoped(objects, "cluster/secret"), secrets.Keys{Primary: key})
	if err != nil {
		return o, err
	}
	loader, err := config.NewLoader(config.LoaderOptions{Source: config.NewFile(path), Logger: s.log})
	if err != nil {
		return o, err
	}
	open := func(ctx context.Context, o infra.Options) (infra.Provider, error) {
		p, err := netns.Open(ctx, o)
		s.infra = p
		return p, err
	}
	providers, err := infra.NewRegistry(map[string]infra.OpenFunc{netns.Kind: open})
	if err != nil {
		return o, err
	}
	return shard.Options{
		ServerID: "e2e", Storage: objects, Secrets: sealed, Loader: loader, Providers: providers,
		CacheDir: filepath.Join(s.dir, "cache"), Logger: s.log, Alone: true,
	}, nil
}

// userdata is what a machine begins with. It is a template, of which the strings come
// out quoted as JSON and YAML have them.
const userdata = `#cloud-config
write_files:
  - path: /var/lib/berth/agent/ca.crt
    content: {{ printf "%q" .Cluster.CACert }}
  - path: /var/lib/berth/agent/nonce.jwt
    permissions: "0600"
    content: {{ .Nonce }}
  - path: /var/lib/berth/agent/bootstrap.json
    permissions: "0600"
    content: '{"cluster_id":"{{ .Cluster.ID }}","shard":"{{ .Server.Shard }}","instance_id":"{{ .Instance.ID }}","registration_addr":"{{ .Server.RegistrationAddr }}","agent_addr":"{{ .Server.AgentAddr }}"}'
`

func (s *stand) configure() (string, error) {
	type object = map[string]any
	text, err := json.MarshalIndent(object{
		"cluster": object{"id": s.owner.ClusterID},
		"shard": object{
			"name": s.owner.Shard,
			"provider": object{"kind": netns.Kind, "options": object{
				"dir":     filepath.Join(s.dir, "machines"),
				"program": []string{s.o.node, "netns-init"},
				"agent":   []string{s.o.node, "agent"},
				"subnets": object{"main": s.o.pool},
			}},
			"server":       object{"registration_addr": s.registrations, "agent_addr": s.agents},
			"subnet_pools": object{"machines": []string{"main"}},
		},
		"templates": object{"node": object{
			"kind": "nod", "arch": "amd64", "subnet_pool": "machines", "userdata": object{"content": userdata},
		}},
		"groups": object{tenant: object{group: object{"template": "node", "size": s.o.machines}}},
	}, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.dir, "machines.jsonc")
	return path, os.WriteFile(path, text, 0o600)
}

// close undoes what was made, last first.
func (s *stand) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), cleanup)
	defer cancel()
	var errs []error
	for i := len(s.undo) - 1; i >= 0; i-- {
		errs = append(errs, s.undo[i](ctx))
	}
	s.undo = nil
	return errors.Join(errs...)
}
