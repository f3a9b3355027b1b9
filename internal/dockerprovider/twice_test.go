package dockerprovider

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/store"
)

// slow is an engine that takes a while for the first network, as a process that died
// has asked it: its subnet is taken from then on, the network is listed once some
// calls have been made. Until then nothing keeps others from its name.
type slow struct {
	docker.Runtime
	k *killer

	mu    sync.Mutex
	asked docker.NetworkSpec // what is being made; no name is nothing
	left  int                // calls until it is made
	twins []docker.NetworkDetail
}

// tick is a call that is made.
func (s *slow) tick(ctx context.Context) {
	if s.asked.Name == "" {
		return
	}
	if s.left--; s.left >= 0 {
		return
	}
	if _, err := s.Runtime.CreateNetwork(ctx, s.asked); docker.IsConflict(err) {
		s.twins = append(s.twins, docker.NetworkDetail{
			ID: "twin", Name: s.asked.Name, Labels: s.asked.Labels, Subnets: []netip.Prefix{s.asked.Subnet}, Created: rigStart,
		})
	}
	s.asked = docker.NetworkSpec{}
}

func (s *slow) CreateNetwork(ctx context.Context, spec docker.NetworkSpec) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.k.dead && s.k.seen == 0 { // the first one
		s.k.seen, s.k.dead, s.asked = 1, true, spec
		return "", errStruck
	}
	if s.asked.Name != "" && s.asked.Subnet.Overlaps(spec.Subnet) || slices.ContainsFunc(s.twins, func(d docker.NetworkDetail) bool { return d.Subnets[0].Overlaps(spec.Subnet) }) {
		s.tick(ctx)
		return "", fmt.Errorf("pool overlaps: %w", docker.ErrSubnetOverlap)
	}
	made, err := s.Runtime.CreateNetwork(ctx, spec)
	s.tick(ctx)
	return made, err
}

func (s *slow) ListNetworks(ctx context.Context, labels map[string]string) ([]docker.NetworkDetail, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := s.Runtime.ListNetworks(ctx, labels)
	list = append(slices.Clone(s.twins), list...) // the simulated engine has no two of a name
	s.tick(ctx)
	return list, err
}

func (s *slow) RemoveNetwork(ctx context.Context, ref string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.twins = slices.DeleteFunc(s.twins, func(d docker.NetworkDetail) bool { return d.ID == ref })
	return s.Runtime.RemoveNetwork(ctx, ref)
}

func (s *slow) Create(ctx context.Context, spec docker.ContainerSpec) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.twins) > 0 {
		return "", fmt.Errorf("network %s is ambiguous: %w", spec.Network.Network, docker.ErrInvalid)
	}
	return s.Runtime.Create(ctx, spec)
}

// A process dies while the engine makes a network for it, which becomes visible after
// some calls of the next process, or never.
func TestANetworkThatIsOnItsWayWhenItsProcessDiesIsTheOne(t *testing.T) {
	for _, calls := range []int{0, 1, 2, 3, 4, 5, 8, 13, 21, 1 << 30} {
		t.Run(fmt.Sprint(calls), func(t *testing.T) {
			r := newRig(t)
			k := &killer{}
			rt := &slow{Runtime: r.engine, k: k, left: calls}
			start := func() {
				d, err := New(rt, Options{State: mortalState{r.state, k}, Vault: r.vault, Now: r.clock.Now, Prober: simProber{r.engine}, SpawnPull: func(f func()) { f() }})
				r.ok(err)
				r.d = d
			}
			k.aim(0, false, false)
			start()
			// The workloads of a lease, all of one network.
			var all []id.ID
			for range 2 {
				req := request(web("web:1"))
				req.Network = "lease"
				all = append(all, req.InstanceID)
				_, err := r.d.Provision(t.Context(), req)
				r.ok(err)
			}
			for !k.dead {
				_, _ = r.d.Step(t.Context(), all[0])
				r.clock.Advance(20 * time.Millisecond)
			}
			k.dead = false
			start()
			for range 3000 {
				ready := 0
				var wg sync.WaitGroup
				for _, one := range all { // at once
					wg.Go(func() { _, _ = r.d.Step(t.Context(), one) })
				}
				wg.Wait()
				r.clock.Advance(20 * time.Millisecond)
				for _, one := range all {
					if st, err := r.d.Status(t.Context(), one); err == nil && st.Ready {
						ready++
					}
				}
				if ready == len(all) {
					break
				}
			}
			for _, one := range all {
				if st, err := r.d.Status(t.Context(), one); err != nil || !st.Ready {
					t.Fatalf("workload %s is %+v, %v", one, st, err)
				}
			}
			nets := r.networks(rt)
			if len(nets) != 1 {
				t.Fatalf("networks: %+v", nets)
			}
			app := translate.App(all[0], tenant, "lease")
			rec, err := r.d.records.SubnetOf(t.Context(), app)
			if err != nil || rec.Prefix != nets[0].Subnets[0] {
				t.Errorf("%v is recorded, %v; the network has %v", rec, err, nets[0].Subnets)
			}
			for _, one := range all {
				r.ok(r.d.Deprovision(t.Context(), one))
			}
			if nets := r.networks(rt); len(nets) > 0 {
				t.Errorf("left: %+v", nets)
			}
			if _, err := r.d.records.SubnetOf(t.Context(), app); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("a subnet is still recorded: %v", err)
			}
		})
	}
}

func (r *rig) networks(rt docker.Runtime) []docker.NetworkDetail {
	r.Helper()
	nets, err := rt.ListNetworks(r.Context(), map[string]string{docker.LabelInstance: DefaultOwner})
	r.ok(err)
	return nets
}

