package application

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// SubnetStore is where the subnets of apps are recorded.
type SubnetStore interface {
	SubnetOf(ctx context.Context, app string) (store.Subnet, error)
	ListSubnets(ctx context.Context) ([]store.Subnet, error)
	SaveSubnet(ctx context.Context, s store.Subnet) error
	DropSubnet(ctx context.Context, app string) error
}

// Networks gives each app a network of its own, with a subnet from a pool.
// It is shared by all controllers of one engine.
type Networks struct {
	Store    SubnetStore
	Runtime  docker.Runtime
	Instance string
	Prefix   string       // of network names; "" means "berth"
	Pool     netip.Prefix // cut into /24s
	// Bridges begins the names of the host's interfaces, up to 9 characters, so that a
	// firewall knows them before they are there; "" lets the engine name them.
	Bridges string
	// HostRoutes lists the prefixes that the host already reaches some way.
	HostRoutes func() ([]netip.Prefix, error)
	// Now is the clock. Without it a subnet is never given up that somebody has who is
	// not to be seen.
	Now func() time.Time

	// choosing is held while a network is looked for, made or removed, engine
	// and store included: two apps must not choose one subnet. Passes of apps
	// whose network is known do not wait for it.
	choosing sync.Mutex
	last     netip.Prefix // that was tried
	mu       sync.Mutex
	known    map[string]bool
	refused  map[string]time.Time // since when the engine refuses a subnet, and shows nobody who has it
}

// DefaultPool is where app subnets come from unless configured otherwise.
var DefaultPool = netip.MustParsePrefix("10.210.0.0/16")

// subnetBits is the size of an app's subnet.
const subnetBits = 24

// Ensure makes the app's network stand and returns its name.
func (n *Networks) Ensure(ctx context.Context, app string) (string, error) {
	name := NetworkName(n.Prefix, app)
	if n.knows(app) {
		return name, nil
	}
	n.choosing.Lock()
	defer n.choosing.Unlock()
	if n.knows(app) { // meanwhile
		return name, nil
	}
	all, err := n.Runtime.ListNetworks(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("list networks: %w", err)
	}
	if mine := named(all, name); len(mine) > 0 {
		err = n.adopt(ctx, app, mine)
	} else {
		err = n.create(ctx, app, name, all)
	}
	if err != nil {
		return "", err
	}
	n.remember(app)
	return name, nil
}

// Invalidate makes the next Ensure look at the engine again.
func (n *Networks) Invalidate(app string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.known, app)
}

func (n *Networks) knows(app string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[app]
}

func (n *Networks) remember(app string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[string]bool{}
	}
	n.known[app] = true
	delete(n.refused, app)
}

func (n *Networks) labels(app string) map[string]string {
	return map[string]string{docker.LabelInstance: n.Instance, docker.LabelApp: app}
}

// Remove deletes the app's network if it is ours and nothing is attached, and
// forgets its subnet. One that may be on its way is waited for: see drain.
func (n *Networks) Remove(ctx context.Context, app string) error {
	n.choosing.Lock()
	defer n.choosing.Unlock()
	n.Invalidate(app)
	nets, err := n.Runtime.ListNetworks(ctx, n.labels(app))
	if err != nil {
		return fmt.Errorf("list networks of app %s: %w", app, err)
	}
	removed, err := n.removeOwn(ctx, app, nets)
	if err == nil && removed == 0 {
		err = n.drain(ctx, app)
	}
	if err != nil {
		return err
	}
	if err := n.Store.DropSubnet(ctx, app); err != nil {
		return storeError("drop subnet of app "+app, err)
	}
	n.forgetRefusal(app)
	return nil
}

// removeOwn deletes those of some networks that are the app's.
func (n *Networks) removeOwn(ctx context.Context, app string, nets []docker.NetworkDetail) (removed int, err error) {
	for i := range nets {
		d := &nets[i]
		if d.Labels[docker.LabelInstance] != n.Instance || d.Labels[docker.LabelApp] != app {
			continue
		}
		if err := n.Runtime.RemoveNetwork(ctx, d.ID); err != nil {
			return removed, fmt.Errorf("remove network %s: %w", d.Name, err)
		}
		removed++
	}
	return removed, nil
}

func (n *Networks) forgetRefusal(app string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.refused, app)
}
