package application

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// farAway is an engine of which some containers are on a node that cannot be asked.
type farAway struct {
	docker.Runtime
	node map[string]string // by container name
	away map[string]bool   // nodes
	lost map[string]bool   // nodes that are gone with all they had
}

func (f *farAway) reach(name string) error {
	if f.away[f.node[name]] {
		return fmt.Errorf("%w: node %s is offline", docker.ErrUnavailable, f.node[name])
	}
	return nil
}

func (f *farAway) List(ctx context.Context, labels map[string]string) ([]docker.ContainerState, error) {
	all, err := f.Runtime.List(ctx, labels)
	out := all[:0]
	for _, s := range all {
		s.Node = f.node[s.Name]
		s.Away = f.away[s.Node]
		if !f.lost[s.Node] {
			out = append(out, s)
		}
	}
	return out, err
}

func (f *farAway) name(container string) string {
	if s, err := f.Runtime.Inspect(context.Background(), container); err == nil {
		return s.Name
	}
	return container
}

func (f *farAway) Inspect(ctx context.Context, container string) (*docker.ContainerState, error) {
	s, err := f.Runtime.Inspect(ctx, container)
	if err != nil {
		return nil, err
	}
	if f.lost[f.node[s.Name]] {
		return nil, docker.ErrNotFound
	}
	s.Node = f.node[s.Name]
	return s, f.reach(s.Name)
}

func (f *farAway) Start(ctx context.Context, container string) error {
	if err := f.reach(f.name(container)); err != nil {
		return err
	}
	return f.Runtime.Start(ctx, container)
}

func (f *farAway) Stop(ctx context.Context, container string, grace time.Duration) error {
	if err := f.reach(f.name(container)); err != nil {
		return err
	}
	return f.Runtime.Stop(ctx, container, grace)
}

func (f *farAway) Remove(ctx context.Context, container string) error {
	if err := f.reach(f.name(container)); err != nil {
		return err
	}
	return f.Runtime.Remove(ctx, container)
}

// spreadRig runs three replicas, each on a node of its own.
func spreadRig(t *testing.T, change ...func(*spec.Service)) (*rig, *farAway) {
	r := startRig(t)
	f := &farAway{Runtime: r.engine, node: map[string]string{}, away: map[string]bool{}, lost: map[string]bool{}}
	r.build = func() *Controller {
		c := r.controller()
		c.rt = f
		return c
	}
	r.apply(r.spec("good:1", append(change, withReplicas(3))...))
	r.settle(60, time.Minute)
	for i, name := range r.running() {
		f.node[name] = fmt.Sprintf("node-%d", i)
	}
	r.passFor(3 * time.Second)
	return r, f
}

func TestWhatIsAwayKeepsItsTrafficAndIsLeftAlone(t *testing.T) {
	r, f := spreadRig(t, func(s *spec.Service) {
		s.Liveness = &spec.Probe{Path: "/", Interval: time.Second, Timeout: time.Second, Failures: 2}
	})
	f.away["node-1"] = true
	effects := r.effects()
	r.passFor(20 * time.Second)
	a, err := r.store.GetActiveRelease(t.Context(), r.service)
	if err != nil || len(a.Targets) != 3 || r.effects() != effects || r.lastErr != nil {
		t.Errorf("targets %v, %v; %d effects, error %v", a.Targets, err, r.effects()-effects, r.lastErr)
	}
	if c := r.ready(); c.Reason != string(ReasonNodeOffline) || c.Status != reconcile.True || !strings.Contains(c.Message, "1 of its containers") {
		t.Errorf("condition %+v", c)
	}
	f.away["node-1"] = false
	r.settle(20, time.Minute)
	if c := r.ready(); c.Reason != string(ReasonDeployed) || r.effects() != effects {
		t.Errorf("back again: %+v, %d effects", c, r.effects()-effects)
	}
}

func TestAChangeGoesOnBesideWhatIsAway(t *testing.T) {
	for _, strategy := range []spec.Strategy{spec.BlueGreen, spec.Rolling} {
		t.Run(string(strategy), func(t *testing.T) {
			r, f := spreadRig(t, func(s *spec.Service) { s.Strategy = strategy })
			before := r.running()
			f.away["node-1"] = true
			r.putDesired(func(d *store.DesiredService) { d.Image, d.Spec.Image = "good:2", "good:2" })
			r.passFor(40 * time.Second)
			if a := r.attempt(); a.State != store.AttemptSucceeded {
				t.Fatalf("attempt %+v; %s", a, r.describe())
			}
			left := slices.DeleteFunc(r.running(), func(n string) bool { return !slices.Contains(before, n) })
			if len(left) != 1 || f.node[left[0]] != "node-1" || len(r.running()) != 4 {
				t.Errorf("left of the old release: %v of %v", left, r.running())
			}
			f.away["node-1"] = false
			r.settle(40, time.Minute)
			if len(r.running()) != 3 || r.ready().Reason != string(ReasonDeployed) {
				t.Errorf("back again: %v, %+v", r.running(), r.ready())
			}
		})
	}
}

// A control plane that was killed in the middle of a change has a list of what runs on a
// node, and loses the node again before it has looked closer.
func TestWhatIsAwayAndWasNeverLookedAtHasItsTimeToBecomeReady(t *testing.T) {
	r, f := spreadRig(t)
	before := r.running()
	r.putDesired(func(d *store.DesiredService) { d.Image, d.Spec.Image = "good:2", "good:2" })
	candidates := func() []string {
		return slices.DeleteFunc(r.running(), func(n string) bool { return slices.Contains(before, n) })
	}
	for range 20 {
		if r.pass(); len(candidates()) == 3 {
			break
		}
	}
	made := candidates()
	if len(made) != 3 {
		t.Fatalf("candidates %v; %s", made, r.describe())
	}
	f.node[made[0]], f.away["node-3"] = "node-3", true
	r.memory = NewMemory(nil)
	r.passFor(5 * time.Second)
	if a := r.attempt(); a.State.Final() {
		t.Fatalf("while it is away: attempt %+v; %s", a, r.describe())
	}
	f.away["node-3"] = false
	r.settle(60, time.Minute)
	if a := r.attempt(); a.State != store.AttemptSucceeded {
		t.Errorf("back again: attempt %+v; %s", a, r.describe())
	}
}

func TestWhatIsLostWithItsNodeIsMadeAnew(t *testing.T) {
	r, f := spreadRig(t)
	lost := ""
	for name, node := range f.node {
		if node == "node-2" {
			lost = name
		}
	}
	f.lost["node-2"] = true
	if err := r.engine.Stop(t.Context(), lost, 0); err != nil {
		t.Fatal(err)
	}
	if err := r.engine.Remove(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	delete(f.node, lost)
	r.settle(40, time.Minute)
	a, err := r.store.GetActiveRelease(t.Context(), r.service)
	if err != nil || len(a.Targets) != 3 || len(r.running()) != 3 {
		t.Errorf("targets %v, %v; running %v", a.Targets, err, r.running())
	}
}

func TestTargetsSayTheirNode(t *testing.T) {
	r, _ := spreadRig(t)
	a, err := r.store.GetActiveRelease(t.Context(), r.service)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	for _, x := range a.Targets {
		nodes = append(nodes, x.Node)
	}
	slices.Sort(nodes)
	if !slices.Equal(nodes, []string{"node-0", "node-1", "node-2"}) {
		t.Errorf("targets %+v", a.Targets)
	}
}

func TestAServiceOfAnOfflineNodeSaysSo(t *testing.T) {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	c := NewNodeOfflineController("shop-web", "node-1", since)
	res, err := c.Reconcile(t.Context())
	if err != nil || len(res.Conditions) != 1 || res.RequeueAfter <= 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	got := res.Conditions[0]
	if c.Name() != ControllerName("shop-web") || got.Status != reconcile.False || got.Reason != string(ReasonNodeOffline) ||
		!strings.Contains(got.Message, "node-1") || !strings.Contains(got.Message, "2026-01-02T03:04:05Z") {
		t.Errorf("%s: %+v", c.Name(), got)
	}
}

// notYet refuses to start what has its address not yet.
type notYet struct {
	docker.Runtime
	left int
}

func (n *notYet) Start(ctx context.Context, container string) error {
	if n.left--; n.left >= 0 {
		return fmt.Errorf("%w: cannot assign requested address", docker.ErrInvalid)
	}
	return n.Runtime.Start(ctx, container)
}

func TestWhatANodeLacksThatHasOnlyComeBackFailsNoAttempt(t *testing.T) {
	r := startRig(t)
	n := &notYet{Runtime: r.engine, left: 3}
	recovering := true
	r.build = func() *Controller {
		c := r.controller()
		c.rt = n
		WithNodeRecovering(recovering)(c)
		return c
	}
	r.apply(r.spec("good:1"))
	seen := false
	for range 40 {
		r.pass()
		r.sync()
		seen = seen || r.ready().Reason == string(ReasonNodeRecovering)
		r.clock.Advance(200 * time.Millisecond)
	}
	if a := r.attempt(); !seen || a.State != store.AttemptSucceeded {
		t.Errorf("recovering was told: %v; attempt %+v", seen, a)
	}
	recovering, n.left = false, 100
	r.putDesired(func(d *store.DesiredService) { d.Image, d.Spec.Image = "good:2", "good:2" })
	r.settle(40, time.Minute)
	if a := r.attempt(); a.State != store.AttemptFailed || a.Reason != string(ReasonStartFailed) {
		t.Errorf("attempt %+v", a)
	}
}

func TestAChangeThatNoNodeIsThereForFailsAfterAWhile(t *testing.T) {
	r := startRig(t)
	a := r.apply(r.spec("good:1"))
	c := NewNoNodeController(r.service, a.ID, r.store, "node a is cordoned")
	c.now = r.clock.Now
	for _, want := range []store.AttemptState{store.AttemptQueued, store.AttemptFailed} {
		res, err := c.Reconcile(t.Context())
		if err != nil || res.Conditions[0].Reason != string(ReasonNoNode) || res.RequeueAfter <= 0 {
			t.Fatalf("%+v, %v", res, err)
		}
		if got := r.attempt(); got.State != want || want == store.AttemptFailed && got.Message != "node a is cordoned" {
			t.Errorf("attempt %+v, want %s", got, want)
		}
		r.clock.Advance(noNodePatience)
	}
}

func TestAServiceWaitsForANodeThatIsExpectedBack(t *testing.T) {
	c := NewNodeAwaitedController("shop-web", "node a is expected back")
	res, err := c.Reconcile(t.Context())
	if err != nil || c.Name() != ControllerName("shop-web") || res.RequeueAfter != awaitedRecheck ||
		res.Conditions[0].Reason != string(ReasonNodeRecovering) || res.Conditions[0].Message != "node a is expected back" {
		t.Errorf("%+v, %v", res, err)
	}
}
