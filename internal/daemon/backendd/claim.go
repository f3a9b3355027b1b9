package backendd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/daemon"
	"github.com/berth-cloud/berth/internal/docker/engine"
	"github.com/berth-cloud/berth/internal/node"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite"
	"github.com/berth-cloud/berth/provider"
)

// hold keeps something until the backend ends.
func (b *backendd) hold(end func() error) { b.held = append(b.held, end) }

// letGo gives back what is held, the last first.
func (b *backendd) letGo() {
	for _, end := range slices.Backward(b.held) {
		if err := end(); err != nil {
			b.logger.Error("let go of what the backend held", "error", err)
		}
	}
}

// claim makes the data directory, the instance in it and the networks this process's own.
// Nothing outside of the directory is changed.
func (b *backendd) claim(ctx context.Context) error {
	err := b.claimStore(ctx)
	if b.opts.FirewallOnly && errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("--firewall-only needs the data directory for itself, and a backend that runs keeps its firewall by itself: %w", err)
	}
	if err != nil {
		return err
	}
	if b.past, err = b.look(ctx); err != nil {
		return err
	}
	if b.opts.FirewallOnly && !b.set.Isolation.Firewall {
		return nil // it only takes its own away
	}
	return b.claimNetworks(ctx)
}

func (b *backendd) claimStore(ctx context.Context) error {
	if err := daemon.CheckRole(b.opts.DataDir, daemon.RoleBackend); err != nil {
		return err
	}
	st, err := daemon.Unlocked(ctx, func() (*sqlite.Store, error) {
		return sqlite.Open(ctx, sqlite.Options{Dir: b.opts.DataDir, Logger: b.logger})
	})
	if err != nil {
		return err
	}
	b.hold(st.Close)
	if err := daemon.SettleRole(ctx, b.opts.DataDir, daemon.RoleBackend, st, b.logger); err != nil {
		return err
	}
	if b.instance, err = st.InstanceID(ctx); err != nil {
		return err
	}
	claim, err := daemon.Unlocked(ctx, func() (io.Closer, error) { return daemon.ClaimInstance(ctx, b.instance, b.opts.DataDir) })
	if err != nil {
		return err
	}
	b.hold(claim.Close)
	b.state = daemon.StateStore(st)
	return nil
}

// NetworksRecord is the record of which networks the backend last served with. It
// outlives every lease.
const NetworksRecord = "daemon/networks"

type networks struct {
	Prefix string       `json:"network_prefix"`
	Pool   netip.Prefix `json:"network_pool"`
}

// past is what earlier processes left in the store.
type past struct {
	leases  bool // there may be some
	served  bool // with the networks that the file has
	version provider.Version
}

func (b *backendd) networks() networks { return networks{b.set.NetworkPrefix, b.set.NetworkPool} }

func (b *backendd) look(ctx context.Context) (past, error) {
	keys, err := b.state.List(ctx, "")
	if err != nil {
		return past{}, err
	}
	var p past
	p.leases = slices.ContainsFunc(keys, func(key string) bool { return key != NetworksRecord })
	rec, err := b.state.Get(ctx, NetworksRecord)
	if errors.Is(err, provider.ErrNotFound) {
		p.served = p.leases // before there was such a record
		return p, nil
	}
	if err != nil {
		return past{}, err
	}
	var last networks
	p.served, p.version = json.Unmarshal(rec.Value, &last) == nil && last == b.networks(), rec.Version
	return p, nil
}

// remember keeps with which networks the backend serves.
func (b *backendd) remember(ctx context.Context) error {
	text, err := json.Marshal(b.networks())
	if err != nil {
		return err
	}
	if _, err := b.state.Put(ctx, NetworksRecord, text, b.past.version); err != nil {
		return fmt.Errorf("keep which networks the backend has: %w", err)
	}
	return nil
}

// claimNetworks is a daemon.ErrNeighbour where another backend has networks that are to be
// ours: the firewall of each would judge the leases of both. One that served with them
// before is not kept from its leases.
func (b *backendd) claimNetworks(ctx context.Context) error {
	at := engineOf(b.set.Docker)
	announced, err := daemon.Announce(ctx, b.opts.Place, daemon.Neighbour{
		Name: b.set.Name, Instance: b.instance, DataDir: b.opts.DataDir, PID: os.Getpid(), Engine: at, Here: here(b.set.Docker),
		Fenced: b.set.Isolation.Firewall, Prefix: b.set.NetworkPrefix, Pool: b.set.NetworkPool,
	}, b.logger)
	if announced != nil {
		b.hold(announced.Close)
	}
	if err == nil {
		err = b.foreignFirewall(ctx)
	}
	if errors.Is(err, daemon.ErrNeighbour) && b.past.served {
		b.shares = true
		b.logger.WarnContext(ctx, "another backend has networks of this one; it serves, as it did before, and the firewall of each stands in the way of the other's leases", "error", err)
		return nil
	}
	return err
}

// foreignFirewall finds the firewall of a backend that does not run, whose leases may.
func (b *backendd) foreignFirewall(ctx context.Context) error {
	if !here(b.set.Docker) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, firewallTime)
	defer cancel()
	all, err := b.opts.Node.Standing(ctx)
	if errors.Is(err, node.ErrUnable) {
		return nil // whether that matters is found out when it is set up
	}
	if err != nil {
		return fmt.Errorf("look for firewalls of other backends: %w", err)
	}
	for _, s := range all {
		if s.Name != short(b.instance) && s.Overlaps(b.set.NetworkPool) {
			table := node.TableName(s.Name)
			return fmt.Errorf("%w: network_pool %s overlaps %s to %s of the firewall inet %s, which another backend set up; write another network_pool into the settings, or, if that backend and its leases are gone for good, take its firewall away: nft delete table inet %s",
				daemon.ErrNeighbour, b.set.NetworkPool, s.First, s.Last, table, table)
		}
	}
	return nil
}

// engineOf is one name for the address of an engine.
func engineOf(address string) string {
	if address == "" {
		address = engine.DefaultHost
	}
	path, local := strings.CutPrefix(address, "unix://")
	if !local {
		return address
	}
	if real, err := filepath.EvalSymlinks(path); err == nil { // else it is not there yet
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}
