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
	"github.com/berth-cloud/berth/provider"
)

// slow is an engine that takes a while for the first network, of which the process dies
// that asks for it: its subnet is taken from then on, and the network is listed once
// some calls have been made. Until then nothing keeps others from its name.
type slow struct {
	docker.Runtime
	k *killer

	mu    sync.Mutex
	first bool               // it was asked for
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
	if _, err := s.Runtime.CreateNetwork(ctx, s.asked); docker.IsConflict(err) { // the simulated engine has no two of a name
		s.twins = append(s.twins, docker.NetworkDetail{
			ID: "twin", Name: s.asked.Name, Labels: s.asked.Labels, Subnets: []netip.Prefix{s.asked.Subnet}, Created: rigStart,
		})
	}
	s.asked = docker.NetworkSpec{}
}

func (s *slow) has(p netip.Prefix) bool {
	return s.asked.Name != "" && s.asked.Subnet.Overlaps(p) ||
		slices.ContainsFunc(s.twins, func(d docker.NetworkDetail) bool { return d.Subnets[0].Overlaps(p) })
}

func (s *slow) CreateNetwork(ctx context.Context, spec docker.NetworkSpec) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.first {
		s.first, s.asked = true, spec
		s.k.aim(1, false, false)
		return "", s.k.effect(func() error { return nil })
	}
	if s.has(spec.Subnet) {
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
	list = append(slices.Clone(s.twins), list...)
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

// pair is two workloads of one network, on an engine that is slow.
type pair struct {
	*rig
	rt   *slow
	reqs []provider.ProvisionRequest
}

func newPair(t *testing.T, calls int) *pair {
	r := newRig(t)
	p := &pair{rig: r, rt: &slow{Runtime: r.engine, k: &killer{}, left: calls}}
	p.process()
	for range 2 {
		req := request(web("web:1"))
		req.Network, req.Rollout.ReadyTimeout = "lease", time.Minute
		p.reqs = append(p.reqs, req)
	}
	return p
}

func (p *pair) process() {
	d, err := New(p.rt, Options{
		State: mortalState{p.state, p.rt.k}, Vault: p.vault, Now: p.clock.Now, Prober: simProber{p.engine}, SpawnPull: func(f func()) { f() },
	})
	p.ok(err)
	p.d = d
	p.rt.k.dead = false
}

// both makes a call for both at once.
func (p *pair) both(do func(provider.ProvisionRequest)) {
	var wg sync.WaitGroup
	for _, req := range p.reqs {
		wg.Go(func() { do(req) })
	}
	wg.Wait()
}

func (p *pair) ready(one id.ID) bool {
	st, err := p.d.Status(p.Context(), one)
	return err == nil && st.Ready
}

// settled steps until both are ready, for a minute.
func (p *pair) settled() {
	p.Helper()
	for range 3000 {
		p.both(func(req provider.ProvisionRequest) { _, _ = p.d.Step(p.Context(), req.InstanceID) })
		p.clock.Advance(20 * time.Millisecond)
		if p.ready(p.reqs[0].InstanceID) && p.ready(p.reqs[1].InstanceID) {
			return
		}
	}
	for _, req := range p.reqs {
		st, err := p.d.Status(p.Context(), req.InstanceID)
		p.Errorf("workload %s is %+v, %v", req.InstanceID, st, err)
	}
	p.FailNow()
}

func (p *pair) networks() []docker.NetworkDetail {
	p.Helper()
	nets, err := p.rt.ListNetworks(p.Context(), map[string]string{docker.LabelInstance: DefaultOwner})
	p.ok(err)
	return nets
}

// A process dies while the engine makes a network for it, which becomes visible after
// some calls of the next process, or never.
func TestANetworkThatIsOnItsWayWhenItsProcessDiesIsTheOne(t *testing.T) {
	for _, calls := range []int{0, 1, 2, 3, 4, 5, 8, 13, 21, 1 << 30} {
		t.Run(fmt.Sprint(calls), func(t *testing.T) {
			p := newPair(t, calls)
			if _, err := p.d.Provision(t.Context(), p.reqs[0]); !errors.Is(err, provider.ErrUnavailable) || p.rt.k.alive() == nil {
				t.Fatalf("it did not die of the network: %v", err)
			}
			p.process()
			// What a first pass cannot do, the next ones do.
			p.both(func(req provider.ProvisionRequest) { _, _ = p.d.Provision(t.Context(), req) })
			p.settled()
			nets := p.networks()
			if len(nets) != 1 {
				t.Fatalf("networks: %+v", nets)
			}
			app := translate.App(p.reqs[0].InstanceID, tenant, "lease")
			rec, err := p.d.records.SubnetOf(t.Context(), app)
			if err != nil || rec.Prefix != nets[0].Subnets[0] {
				t.Errorf("%v is recorded, %v; the network has %v", rec, err, nets[0].Subnets)
			}
			for _, req := range p.reqs {
				p.ok(p.d.Deprovision(t.Context(), req.InstanceID))
			}
			if nets := p.networks(); len(nets) > 0 {
				t.Errorf("left: %+v", nets)
			}
			if _, err := p.d.records.SubnetOf(t.Context(), app); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("a subnet is still recorded: %v", err)
			}
		})
	}
}

// The workloads are given up before the network is there.
func TestANetworkThatIsOnItsWayIsNotLeftBehind(t *testing.T) {
	for _, calls := range []int{0, 1, 2, 3, 4, 5, 8, 13, 21} {
		t.Run(fmt.Sprint(calls), func(t *testing.T) {
			p := newPair(t, calls)
			if _, err := p.d.Provision(t.Context(), p.reqs[0]); !errors.Is(err, provider.ErrUnavailable) || p.rt.k.alive() == nil {
				t.Fatalf("it did not die of the network: %v", err)
			}
			p.process()
			var err error
			for range 60 {
				if err = p.d.Deprovision(t.Context(), p.reqs[0].InstanceID); !errors.Is(err, provider.ErrUnavailable) {
					break
				}
				p.clock.Advance(time.Second)
			}
			p.ok(err)
			for range 30 { // whatever comes has come by then
				p.networks()
			}
			if nets := p.networks(); len(nets) > 0 {
				t.Errorf("left: %+v", nets)
			}
			if keys, err := p.state.List(t.Context(), ""); err != nil || len(keys) > 0 {
				t.Errorf("records: %v, %v", keys, err)
			}
		})
	}
}
