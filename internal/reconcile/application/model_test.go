package application

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite"
)

// TestMain gives the models their steps unless a flag says otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	set := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { set[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": modelChecks, "rapid.steps": "50"} {
		if !set[name] {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}

// model drives a rig with random changes and faults, and checks at every
// effect what must never happen.
type model struct {
	*rig
	rt       *rapid.T
	cutAfter atomic.Int64 // mutating calls until the next pass is cut; 0 or less: never
	foreign  string
	// lasting: containers may turn bad and stay so, which shows in nothing but
	// the answers that users get.
	lasting bool
}

// freshStore opens an empty store for one run of a model.
func freshStore(t testing.TB) (*sqlite.Store, func()) {
	dir := fastDir(t)
	st, err := sqlite.Open(context.Background(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatalf("store: %v", err)
	}
	return st, func() {
		if err := errors.Join(st.Close(), os.RemoveAll(dir)); err != nil {
			t.Errorf("close the store: %v", err)
		}
	}
}

func newModel(rt *rapid.T, tb testing.TB, st *sqlite.Store) *model {
	m := &model{rig: newRig(tb, st, "shop", "web"), rt: rt}
	m.vault = rigSecrets{"shop/TOKEN": {"hunter2"}, "shop/config": {"a: 1"}}
	m.addForeign()
	m.build = m.controller
	m.engine.OnCall(m.onCall)
	m.store.onActive = m.onActive
	return m
}

// addForeign puts a container there that looks like ours but is not.
func (m *model) addForeign() {
	ctx := context.Background()
	id, err := m.engine.CreateNetwork(ctx, docker.NetworkSpec{Name: "elsewhere", Subnet: netip.MustParsePrefix("10.99.0.0/24")})
	if err != nil {
		m.rt.Fatalf("network: %v", err)
	}
	m.foreign = m.service + "-0badcafe"
	_, err = m.engine.Create(ctx, docker.ContainerSpec{
		Name: m.foreign, Image: "good:1", Labels: map[string]string{docker.LabelService: m.service, docker.LabelInstance: "another"},
		Network: docker.NetworkAttachment{Network: id, Address: netip.MustParseAddr("10.99.0.9")},
	})
	if err == nil {
		err = m.engine.Start(ctx, m.foreign)
	}
	if err != nil {
		m.rt.Fatalf("foreign container: %v", err)
	}
	m.engine.ResetHistory()
}

func (m *model) onCall(p dockertest.CutPoint) {
	if !p.After {
		m.checkEffect(p)
	}
	if m.cutAfter.Add(-1) == 0 {
		panic(cut{p})
	}
}

// checkEffect is called before every effect on the engine.
func (m *model) checkEffect(p dockertest.CutPoint) {
	if p.Call != dockertest.CallStop && p.Call != dockertest.CallRemove {
		return
	}
	for _, c := range m.engine.Containers() {
		if c.Name != p.Object && c.ID != p.Object {
			continue
		}
		m.plane.view() // lets ended drains end
		if c.Running() && m.plane.busy(c.Name) && m.answers(c.Address) {
			m.rt.Fatalf("%s of %s while requests are on it", p.Call, c.Name)
		}
	}
}

// answers reports whether a request to a container is answered well.
func (r *rig) answers(addr netip.Addr) bool {
	status, err := r.engine.HTTP(context.Background(), netip.AddrPortFrom(addr, 8080), "/")
	return err == nil && status == 200
}

// onActive is called before every change of the active release.
func (m *model) onActive(before, after store.ActiveRelease) {
	lost, kept := 0, 0
	for _, t := range before.Targets {
		if m.answers(t.Address.Addr()) {
			lost++
		}
	}
	for _, t := range after.Targets {
		if m.answers(t.Address.Addr()) {
			kept++
		}
	}
	if lost == 0 || kept > 0 || m.lasting && len(after.Targets) > 0 {
		return
	}
	d, err := m.store.GetDesiredService(context.Background(), m.service)
	if err != nil {
		m.rt.Fatalf("desired: %v", err)
	}
	r, err := m.store.GetRelease(context.Background(), before.ReleaseID)
	if err != nil {
		m.rt.Fatalf("release: %v", err)
	}
	next := &store.Release{Spec: d.Spec}
	if !d.Suspended && !d.Stopped && !mayMissAll(&r.Spec, before.Replicas) && !mayMissAll(&d.Spec, d.Replicas) && !d.Spec.Completes() && !handsOver(&r, next) {
		m.rt.Fatalf("the last ready replica was taken off the route: %+v -> %+v", before, after)
	}
}

// mayMissAll reports whether a service is changed replica by replica and may
// miss all that it has.
func mayMissAll(s *spec.Service, replicas int) bool {
	_, unavailable := s.RollingBounds(replicas)
	return (s.Strategy == spec.Rolling || s.ReplicaExclusive()) && unavailable >= replicas
}

func (m *model) controller() *Controller {
	c := m.rig.controller()
	c.planned = func(w *World, p Plan) {
		if again := PlanPass(*w); !reflect.DeepEqual(p, again) {
			m.rt.Fatalf("one world, two plans:\n%v\n%v", p.Actions, again.Actions)
		}
	}
	return c
}

// modelSpecs draws what a user may ask for.
func (m *model) draw() spec.Service {
	if rapid.IntRange(0, 5).Draw(m.rt, "job") == 0 {
		image := rapid.SampledFrom([]string{"job:1", "job:2", "job:bad", "job:second", "job:never"}).Draw(m.rt, "image")
		restart := rapid.SampledFrom([]spec.Restart{spec.RestartNo, spec.RestartOnFailure}).Draw(m.rt, "restart")
		return m.spec(image, asJob(restart))
	}
	image := rapid.SampledFrom([]string{"good:1", "good:2", "slow:1", "stuck:1", "flaky:1", "never:1", "exits:1", "oom:1", "500:1", "unknown:1", "cannot:1"}).Draw(m.rt, "image")
	shape := rapid.IntRange(0, 12).Draw(m.rt, "shape")
	sidecar := rapid.SampledFrom([]string{"side:1", "side:2", "side:once", "side:ends"}).Draw(m.rt, "sidecar")
	return m.spec(image, func(s *spec.Service) {
		s.Domains = []string{m.service + ".example"}
		switch shape {
		case 1:
			s.Volumes = []spec.Volume{{Name: "data", Path: "/data"}}
			s.Strategy = spec.Recreate
		case 2:
			s.Replicas = 3
		case 3:
			s.Env = []spec.EnvVar{{Name: "N", Value: "1"}}
			s.StableWindow = 2 * time.Second
		case 4:
			s.KeepPrevious = 20 * time.Second
		case 5:
			withPublished(s)
		case 6:
			asGroup(sidecar)(s)
			withSecrets(s)
		case 7:
			asGroup(sidecar)(s)
			s.Replicas, s.SidecarsFirst = 2, []string{"log"}
		case 8:
			asGroup(sidecar)(s)
			s.Volumes, s.Strategy = []spec.Volume{{Name: "data", Path: "/data"}}, spec.Recreate
			s.Inits[0].Image = rapid.SampledFrom([]string{"init:1", "init:bad"}).Draw(m.rt, "init")
		case 9:
			asRolling(rapid.SampledFrom([]spec.Amount{"", "0", "2", "50%"}).Draw(m.rt, "surge"), rapid.SampledFrom([]spec.Amount{"", "1", "50%"}).Draw(m.rt, "unavailable"))(s)
		case 10:
			asStateful(s)
		case 11:
			asRolling("", "")(s)
			asGroup(sidecar)(s)
		case 12:
			asStateful(s)
			asGroup(sidecar)(s)
			s.Replicas = rapid.IntRange(1, 3).Draw(m.rt, "replicas")
		}
	})
}

// restart loses what a process holds in memory.
func (m *model) restart() {
	m.memory, m.store.puller = NewMemory(nil), nil
}

func (m *model) fault() {
	f := dockertest.Fault{
		Kind:     rapid.SampledFrom([]dockertest.FaultKind{dockertest.FailBefore, dockertest.FailAfter, dockertest.Hang, dockertest.LieOnce, dockertest.Wedge}).Draw(m.rt, "kind"),
		Nth:      rapid.IntRange(1, 6).Draw(m.rt, "nth"),
		Mutating: rapid.Bool().Draw(m.rt, "mutating"),
		Effect:   rapid.Bool().Draw(m.rt, "effect"),
		Lie:      rapid.SampledFrom([]dockertest.Lie{dockertest.LieStale, dockertest.LieOmit, dockertest.LieRunning}).Draw(m.rt, "lie"),
	}
	m.engine.Script(f)
}

func (m *model) unpause() {
	for _, c := range m.engine.Containers() {
		m.engine.Unpause(c.Name)
	}
}

// own draws one of the service's running containers, or "".
func (m *model) own() string {
	var names []string
	for _, c := range m.engine.Containers() {
		if c.Running() && c.Labels[docker.LabelInstance] == rigInstance {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return rapid.SampledFrom(names).Draw(m.rt, "container")
}

func TestAnyHistoryOfChangesAndFaultsConverges(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		st, closeStore := freshStore(t)
		defer closeStore()
		m := newModel(rt, t, st)
		defer m.engine.Close()
		m.rig.t = failer{t, rt}
		m.apply(m.draw())
		rt.Repeat(m.operations())
		m.quiesce()
	})
}

// operations are what may happen to a service at any moment.
func (m *model) operations() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"apply": func(*rapid.T) { m.apply(m.draw()) },
		"pass":  func(*rapid.T) { m.pass(); m.sync() },
		"some passes": func(*rapid.T) {
			for range 8 {
				m.pass()
				m.sync()
				m.clock.Advance(50 * time.Millisecond)
			}
		},
		"lag": func(*rapid.T) { m.pass() },
		"time": func(rt *rapid.T) {
			m.clock.Advance(time.Duration(rapid.IntRange(1, 8000).Draw(rt, "ms")) * time.Millisecond)
		},
		"cut": func(rt *rapid.T) {
			m.cutAfter.Store(int64(rapid.IntRange(1, 8).Draw(rt, "calls")))
			if m.pass() {
				m.restart()
			}
			m.cutAfter.Store(0)
		},
		"restart":       func(*rapid.T) { m.restart() },
		"image arrives": func(*rapid.T) { m.engine.AddImage("unknown:1", docker.Image{}, images["good:1"]) },
		"stop":          func(rt *rapid.T) { m.putDesired(func(d *store.DesiredService) { d.Stopped = true }) },
		"start":         func(rt *rapid.T) { m.putDesired(func(d *store.DesiredService) { d.Stopped = false }) },
		"fault":         func(*rapid.T) { m.fault() },
		"crash": func(*rapid.T) {
			if name := m.own(); name != "" {
				m.engine.Kill(name, 1, false)
			}
		},
		"pause": func(*rapid.T) {
			if name := m.own(); name != "" {
				m.engine.Pause(name)
			}
		},
		"unpause":         func(*rapid.T) { m.unpause() },
		"data plane down": func(*rapid.T) { m.plane.down = true },
		"data plane up":   func(*rapid.T) { m.plane.down = false; m.sync() },
		"engine restart":  func(rt *rapid.T) { m.engine.RestartEngine(rapid.Bool().Draw(rt, "live restore")) },
		"":                func(*rapid.T) { m.invariants() },
	}
}

func (m *model) invariants() {
	if o := m.engine.WritersOverlap(); len(o) > 0 {
		m.rt.Fatalf("two writers on one volume: %+v\n%s", o, m.history())
	}
	if touched := m.engine.TouchedWithout(docker.LabelInstance, rigInstance); len(touched) > 0 {
		m.rt.Fatalf("touched what is not ours: %+v", touched)
	}
}

// history is what happened to containers, a line each.
func (m *model) history() string {
	var b strings.Builder
	for _, h := range m.engine.History() {
		fmt.Fprintf(&b, "%s %s %s %s %s\n", h.At.Format("05.000"), h.By, h.Did, h.Name, h.Status)
	}
	return b.String()
}

// quiesce ends all faults and checks that the service comes to rest as it should.
func (m *model) quiesce() {
	m.engine.ClearScript()
	m.unpause()
	m.plane.down = false
	m.sync()
	m.putDesired(func(d *store.DesiredService) { d.Stopped = false })
	m.memory.TouchAll() // as after a broken event stream
	m.settle(50, 20*time.Minute)
	m.invariants()
	a, got := m.attempt(), m.ready()
	active, err := m.store.GetActiveRelease(context.Background(), m.service)
	hasActive := err == nil
	d, err := m.store.GetDesiredService(context.Background(), m.service)
	if err != nil {
		m.rt.Fatalf("desired: %v", err)
	}
	switch {
	case a.State == store.AttemptSucceeded:
		want := string(ReasonDeployed)
		if d.Spec.Completes() {
			want = ReasonCompleted
		}
		if active.Replicas != d.Replicas || got.Status != reconcile.True || got.Reason != want || active.ReleaseID != a.ReleaseID {
			m.rt.Fatalf("succeeded, but %+v; active %s, attempt %+v; %s", got, active.ReleaseID, a, m.describe())
		}
	case a.State == store.AttemptFailed && hasActive:
		job := m.serving(active.ReleaseID).Spec.Completes()
		if !job && got.Status != reconcile.True || a.Reason == "" || a.Message == "" {
			m.rt.Fatalf("failed, and what serves is %+v; attempt %+v; %s", got, a, m.describe())
		}
	case a.State == store.AttemptFailed:
		if wait := m.memory.retryAt(m.service).Sub(m.clock.Now()); (got.Status != reconcile.False && got.Status != reconcile.True) || a.Reason == "" || wait > 5*time.Minute {
			m.rt.Fatalf("failed, without reason or bounded backoff: %+v, next try in %s", got, wait)
		}
		return
	default:
		m.rt.Fatalf("never settled: attempt %+v; %+v; err %v; %s", a, got, m.lastErr, m.describe())
	}
	m.checkNothingLeft(active)
}

// checkNothingLeft: the containers of as many groups as replicas, an address for
// each, and the foreign one untouched.
func (m *model) checkNothingLeft(active store.ActiveRelease) {
	release := m.serving(active.ReleaseID)
	own, held := 0, 0
	for _, c := range m.engine.Containers() {
		if c.Labels[docker.LabelInstance] == rigInstance {
			own++
			ends := c.Labels[docker.LabelRole] == string(spec.RoleInit) || release.Spec.Completes()
			if c.Running() == ends {
				m.rt.Fatalf("%s is %s", c.Name, c.Status)
			}
		}
	}
	addrs, err := m.store.ListAddresses(context.Background(), m.app)
	if err != nil {
		m.rt.Fatalf("addresses: %v", err)
	}
	for _, a := range addrs {
		if a.FreedAt.IsZero() && len(a.Container) > len(m.service) && a.Container[:len(m.service)+1] == m.service+"/" {
			held++
		}
	}
	want := active.Replicas * len(release.Spec.Members())
	if release.Spec.Completes() {
		want = min(want, own) // the run may have been removed since, after it proved itself
	}
	if own != want || held != want {
		m.rt.Fatalf("%d containers and %d addresses for %d: %s", own, held, want, m.describe())
	}
}

// failer lets rig helpers fail the rapid run rather than the whole test.
type failer struct {
	testing.TB
	rt *rapid.T
}

func (f failer) Fatalf(format string, args ...any) { f.rt.Fatalf(format, args...) }
func (f failer) Helper()                           {}
