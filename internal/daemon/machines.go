package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/netns"
	"github.com/berth-cloud/berth/instances/infra/qemu"
	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/wire"
)

// machines is the shard of machines that this daemon is a server of; nil is that it has
// none. What is above it has its hub, its manager and its events by the shard.
type machines struct {
	shard  *shard.Shard
	loader *config.Loader
	source *machineFile
	place  *place
	log    *slog.Logger

	// plane is how the data plane takes agents; nil is that it takes none.
	plane *planeCredentials

	registrations, agents net.Listener
}

// machineDeps is what machines stand on in this daemon.
type machineDeps struct {
	// providers are the kinds of machines that can be made.
	providers map[string]infra.OpenFunc
	// holder and drainer know what runs on machines; nil is that nothing does.
	holder  group.Holder
	drainer group.Drainer
	// denied is called when machines come to be ones that go; nil is nobody.
	denied func()
	// listen takes an address; nil is the system's.
	listen func(ctx context.Context, network, address string) (net.Listener, error)
}

func machineProviders() map[string]infra.OpenFunc {
	return map[string]infra.OpenFunc{netns.Kind: netns.Open, qemu.Kind: qemu.Open}
}

// machinesTimeout bounds what is read and asked before the daemon serves.
const machinesTimeout = 60 * time.Second

// openMachines prepares what a file of machines says; without a file there are none. It
// fails when the file is wrong, or what it names cannot be had: nobody should find out
// later that machines are not looked after.
func openMachines(ctx context.Context, cfg *Config, deps machineDeps, log *slog.Logger) (_ *machines, err error) {
	if cfg.Machines == "" {
		return nil, nil //nolint:nilnil // no machines
	}
	ctx, cancel := context.WithTimeout(ctx, machinesTimeout)
	defer cancel()
	log = log.With("part", "machines")
	m := &machines{source: &machineFile{file: config.NewFile(cfg.Machines), name: cfg.Machines, log: log}, log: log}
	defer func() {
		if err != nil {
			m.close()
		}
	}()
	conf, err := m.source.first(ctx)
	if err != nil {
		return nil, err
	}
	providers, err := infra.NewRegistry(deps.providers)
	if err != nil {
		return nil, err
	}
	if err := providers.Check(conf.Shard.Provider.Kind); err != nil {
		return nil, fmt.Errorf("%s: shard.provider.kind: %w", cfg.Machines, err)
	}
	dir := filepath.Join(cfg.DataDir, "machines")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the machines: %w", err)
	}
	if m.place, err = openPlace(ctx, conf.Storage, dir); err != nil {
		return nil, fmt.Errorf("%s: storage: %w", cfg.Machines, err)
	}
	if m.loader, err = m.place.loader(conf, m.source, log); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this host: %w", err)
	}
	m.shard, err = shard.Open(ctx, shard.Options{
		ServerID: host, Storage: m.place.objects, Secrets: m.place.secrets, Loader: m.loader, Providers: providers,
		Sole:     conf.Storage.Local(),
		CacheDir: filepath.Join(dir, "cache"), Holder: deps.holder, Drainer: deps.drainer, DenyChanged: deps.denied,
		IngressAddr: conf.Shard.Server.IngressAddr, Logger: log,
	})
	if err != nil {
		return nil, fmt.Errorf("machines of %s: %w", cfg.Machines, err)
	}
	if at := conf.Shard.Server.IngressAddr; at != "" {
		m.plane = newPlaneCredentials(planeOptions{
			Server: host, Address: at, Authority: m.shard.Authority, Secrets: m.place.secrets, Denials: m.shard.Manager,
		})
	}
	return m, m.listen(ctx, conf.Shard.Server, deps.listen)
}

// listen takes the addresses at which machines reach this server.
func (m *machines) listen(ctx context.Context, at config.Server, listen func(context.Context, string, string) (net.Listener, error)) (err error) {
	if listen == nil {
		listen = new(net.ListenConfig).Listen
	}
	for _, one := range []struct {
		key, addr string
		to        *net.Listener
	}{{"registration_addr", at.RegistrationAddr, &m.registrations}, {"agent_addr", at.AgentAddr, &m.agents}} {
		if *one.to, err = listen(ctx, "tcp", one.addr); err != nil {
			return fmt.Errorf("%s: shard.server.%s: %w", m.source.name, one.key, err)
		}
	}
	return nil
}

// run serves machines until ctx is done.
func (m *machines) run(ctx context.Context) error {
	m.log.InfoContext(ctx, "machines are looked after", "registration_addr", m.registrations.Addr().String(), "agent_addr", m.agents.Addr().String())
	return m.shard.Serve(ctx, m.registrations, m.agents)
}

// api is what the API asks; nil is that there are no machines.
func (m *machines) api() api.Machines {
	if m == nil {
		return nil
	}
	return m.shard
}

// close gives up what was opened; machines go on.
func (m *machines) close() {
	if m == nil {
		return
	}
	for _, l := range []net.Listener{m.registrations, m.agents} {
		if l != nil {
			_ = l.Close()
		}
	}
	var err error
	if m.shard != nil {
		err = m.shard.Close()
	}
	if m.place != nil {
		err = errors.Join(err, m.place.close())
	}
	if err != nil {
		m.log.Error("close the machines", "error", err)
	}
}

// check is what doctor says of machines.
func (m *machines) check(context.Context) []wire.Check {
	if m == nil {
		return nil
	}
	c := wire.Check{Name: "machines", State: wire.CheckOK}
	leader, known := m.shard.Leader()
	switch err := m.loader.Status().Err; {
	case err != nil:
		c.State, c.Message = wire.CheckFailed, "the file of machines cannot be used, and the last good one holds: "+err.Error()
		c.Fix = "correct " + m.source.name + "; it is read again by itself"
	case !known || leader.Released:
		c.State, c.Message = wire.CheckWarning, "nobody leads the shard yet, so nothing is made or replaced"
		c.Fix = "wait for half a minute; if it stays so, the log of berthd says why"
	case leader.Self:
		c.Message = fmt.Sprintf("this server leads in term %d, %d machines are connected to it", leader.Term, len(m.shard.Nodes()))
	default:
		c.Message = fmt.Sprintf("%s leads in term %d", leader.Holder, leader.Term)
	}
	return []wire.Check{c}
}
