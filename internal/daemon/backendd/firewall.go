package backendd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/internal/daemon/backendd/settings"
	"github.com/berth-cloud/berth/internal/node"
)

const (
	// checkEvery is how soon rules are put right that somebody else took away, where
	// no lease has a pass.
	checkEvery   = 5 * time.Second
	firewallTime = 15 * time.Second
)

// short is few digits that tell one instance from another.
func short(instance string) string {
	sum := sha256.Sum256([]byte(instance))
	return hex.EncodeToString(sum[:3])
}

// FirewallTable is the name of the table of nftables that an instance has.
func FirewallTable(instance string) string { return node.TableName(short(instance)) }

// bridges begins the names of the interfaces of an instance's networks.
func bridges(instance string) string { return "bl" + short(instance) + "-" }

// firewall is the guard of leases.
type firewall struct {
	host    node.Host
	rules   node.Rules
	logger  *slog.Logger
	repairs prometheus.Counter

	mu   sync.Mutex
	last string // what was last wrong, so that it is said once
}

var _ hosting.Guard = (*firewall)(nil)

func rulesOf(instance string, set *settings.Settings) node.Rules {
	return node.Rules{
		Name: short(instance), Pools: []netip.Prefix{set.NetworkPool}, Bridges: bridges(instance),
		Allow: set.Isolation.AllowPrivate, Resolvers: set.Isolation.Resolvers, HostPorts: set.Isolation.DataPlanePorts,
	}
}

// isolate sets the firewall up, or takes away the one of an earlier start where it is
// off. A machine that can have none does not go on without being told to.
func isolate(ctx context.Context, instance string, set *settings.Settings, host node.Host, repairs prometheus.Counter, logger *slog.Logger) (*firewall, error) {
	ctx, cancel := context.WithTimeout(ctx, firewallTime)
	defer cancel()
	f := &firewall{host: host, rules: rulesOf(instance, set), logger: logger, repairs: repairs}
	if !set.Isolation.Firewall {
		logger.WarnContext(ctx, "isolation.firewall is off: leases reach each other, this machine and its networks", "backend", set.Name)
		if err := host.DropFirewall(ctx, f.rules.Name); err != nil && !errors.Is(err, node.ErrUnable) {
			return nil, fmt.Errorf("take the firewall of leases away: %w", err)
		}
		return nil, nil //nolint:nilnil // none is what was asked for
	}
	if !here(set.Docker) {
		return nil, fmt.Errorf("the engine at %s is not on this machine, so that its leases cannot be kept apart from here; run the backend there, or set isolation: {firewall: off}", set.Docker)
	}
	if err := host.Firewall(ctx, f.rules); err != nil {
		return nil, fmt.Errorf("keep leases apart: %w; to run without, which lets leases reach each other and this machine, set isolation: {firewall: off}", err)
	}
	logger.InfoContext(ctx, "the firewall of leases stands", "table", node.TableName(f.rules.Name), "pool", set.NetworkPool.String())
	if deaf := unreachable(resolverFiles, f.rules); len(deaf) > 0 {
		logger.WarnContext(ctx, "leases cannot ask the resolvers of this machine for names, because these are private; list them under isolation.resolvers if leases are to",
			"resolvers", fmt.Sprint(deaf))
	}
	return f, nil
}

// here reports whether an engine is on this machine.
func here(engine string) bool {
	rest, remote := strings.CutPrefix(engine, "tcp://")
	if !remote {
		return true
	}
	at, err := netip.ParseAddrPort(rest)
	return strings.HasPrefix(rest, "localhost:") || err == nil && at.Addr().IsLoopback()
}

// Ensure implements hosting.Guard.
func (f *firewall) Ensure(ctx context.Context) error {
	err := f.host.CheckFirewall(ctx, f.rules)
	if errors.Is(err, node.ErrDiffers) {
		f.logger.WarnContext(ctx, "the firewall of leases was changed by somebody else, and is put right", "found", err)
		f.repairs.Inc()
		err = f.host.Firewall(ctx, f.rules)
	}
	f.note(ctx, err)
	return err
}

// note says what is wrong when it begins and when it is over.
func (f *firewall) note(ctx context.Context, err error) {
	if err != nil && ctx.Err() != nil {
		return // it says something of the caller alone
	}
	said := ""
	if err != nil {
		said = err.Error()
	}
	f.mu.Lock()
	before := f.last
	f.last = said
	f.mu.Unlock()
	switch {
	case said == before:
	case said == "":
		f.logger.InfoContext(ctx, "the firewall of leases stands again")
	default:
		f.logger.ErrorContext(ctx, "the firewall of leases cannot be put right; nothing is started until it is", "error", err)
	}
}

// wrong reports whether the rules were last found not to stand, and not put right.
func (f *firewall) wrong() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last != ""
}

// watch looks after the rules until ctx is done.
func (f *firewall) watch(ctx context.Context) error {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		once, cancel := context.WithTimeout(ctx, firewallTime)
		_ = f.Ensure(once) // it was said, and the next time may be better
		cancel()
	}
}
