package application

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite"
)

// rig runs the controller of one service on the simulated engine, a real
// store and a simulated data plane, all on one virtual clock.
type rig struct {
	t       testing.TB
	clock   *dockertest.Clock
	engine  *dockertest.Engine
	store   *watchedStore
	memory  *Memory
	plane   *simPlane
	app     string
	service string
	last    reconcile.Result
	lastErr error
	acting  int // passes with an effect so far
	build   func() *Controller
	vault   rigSecrets
}

const (
	rigInstance = "rig"
)

var rigStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newRig(t testing.TB, st *sqlite.Store, app, service string) *rig {
	clock := dockertest.NewClock(rigStart)
	r := &rig{t: t, clock: clock, engine: dockertest.New(clock), memory: NewMemory(nil), app: app, service: app + "-" + service}
	r.plane = &simPlane{clock: clock, draining: map[string]time.Time{}, drainFor: 500 * time.Millisecond}
	r.store = &watchedStore{Store: st}
	r.build = r.controller
	for _, set := range []map[string]dockertest.Behaviour{images, groupImages} {
		for _, name := range slices.Sorted(maps.Keys(set)) { // ids follow the order
			r.engine.AddImage(name, docker.Image{}, set[name])
		}
	}
	return r
}

// images is what deploys are made of. The port that services name is 8080.
var images = map[string]dockertest.Behaviour{
	"good:1":   {Port: 8080, StartDelay: 30 * time.Millisecond},
	"good:2":   {Port: 8080, StartDelay: 30 * time.Millisecond},
	"slow:1":   {Port: 8080, StartDelay: 3 * time.Second, StopTime: 2 * time.Second},
	"stuck:1":  {Port: 8080, StartDelay: 10 * time.Millisecond, IgnoreTerm: true},
	"never:1":  {},
	"exits:1":  {Exit: &dockertest.Exit{After: 100 * time.Millisecond, Code: 3}, Log: []dockertest.LogAt{{Text: "cannot find config"}}},
	"oom:1":    {Exit: &dockertest.Exit{After: 80 * time.Millisecond, Code: 137, OOM: true}},
	"500:1":    dockertest.Status(8080, 500),
	"other:1":  {Port: 9999, Log: []dockertest.LogAt{{Text: "listening on 9999"}}},
	"cannot:1": {StartError: "exec: \"/program\": no such file"},
	"flaky:1":  {Port: 8080, PerRun: flaky},
}

// flaky runs well the first time and crashes soon after each later start.
func flaky(r dockertest.Run) dockertest.Behaviour {
	b := dockertest.Behaviour{Port: 8080, StartDelay: 20 * time.Millisecond, Log: []dockertest.LogAt{{Text: "the queue is gone"}}}
	if r.Number > 0 && r.Number < 4 {
		b.Exit = &dockertest.Exit{After: 200 * time.Millisecond, Code: 1}
	}
	return b
}

// spec builds a spec of the rig's service.
func (r *rig) spec(image string, change ...func(*spec.Service)) spec.Service {
	s := spec.Service{
		Name: r.service[len(r.app)+1:], Image: image, Port: 8080, Domains: []string{"shop.example"}, Replicas: 1,
		Strategy: spec.BlueGreen, Readiness: &spec.Probe{Path: "/", Interval: time.Second, Timeout: time.Second, ExpectedStatus: "200-299"},
		ReadyTimeout: 10 * time.Second, DrainTimeout: 5 * time.Second, StopGrace: 2 * time.Second, HoldTimeout: 10 * time.Second,
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

// apply changes the desired service as the API does.
func (r *rig) apply(s spec.Service) store.Attempt {
	r.t.Helper()
	a, err := r.store.ApplyChange(context.Background(), store.Change{
		AppID: r.app, Kind: store.AttemptApply, Now: r.clock.Now(),
		Put:     []store.DesiredService{{Name: r.service, AppID: r.app, Image: s.Image, Spec: s, Replicas: s.Replicas}},
		Actions: map[string]string{r.service: "update"},
	})
	if err != nil {
		r.t.Fatalf("apply: %v", err)
	}
	return a
}

// putDesired changes the desired service in an attempt of its own.
func (r *rig) putDesired(change func(*store.DesiredService)) { r.change("update", change) }

// change is putDesired as an action of that name.
func (r *rig) change(action string, change func(*store.DesiredService)) {
	r.t.Helper()
	d, err := r.store.GetDesiredService(context.Background(), r.service)
	if err != nil {
		r.t.Fatalf("desired: %v", err)
	}
	change(d)
	_, err = r.store.ApplyChange(context.Background(), store.Change{
		AppID: r.app, Kind: store.AttemptApply, Now: r.clock.Now(), Put: []store.DesiredService{*d},
		Actions: map[string]string{r.service: action},
	})
	if err != nil {
		r.t.Fatalf("change: %v", err)
	}
}

// secondFails runs well in the first replica and ends at once in the others.
func secondFails() dockertest.Behaviour {
	return dockertest.Behaviour{Port: 8080, PerRun: func(run dockertest.Run) dockertest.Behaviour {
		b := dockertest.Behaviour{Port: 8080, StartDelay: 20 * time.Millisecond}
		if run.Spec.Labels[docker.LabelReplica] != "0" {
			b.Exit = &dockertest.Exit{After: 100 * time.Millisecond, Code: 1}
		}
		return b
	}}
}

func (r *rig) controller() *Controller {
	return New(r.service, r.store, r.engine,
		WithInstanceID(rigInstance), WithMemory(r.memory), WithClock(r.clock.Now), WithIngressView(r.plane.view),
		WithProber(simProber{r.engine}), WithPuller(r.puller()), WithSecrets(r.vault),
	)
}

// puller fetches within the pass: virtual time has no background.
func (r *rig) puller() *Puller {
	p := NewPuller(r.clock.Now, nil)
	p.Spawn = func(f func()) { f() }
	if r.store.puller == nil {
		r.store.puller = p
	}
	return r.store.puller
}

// cut is the panic with which a test ends a pass between two effects.
type cut struct{ at dockertest.CutPoint }

// pass runs the controller once; it reports whether the pass was cut.
func (r *rig) pass() (wasCut bool) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case cut:
			wasCut = true
		default:
			panic(p)
		}
	}()
	calls := r.effects()
	writes := r.store.writes
	r.last, r.lastErr = r.build().Reconcile(context.Background())
	if r.effects() != calls || r.store.writes != writes {
		r.acting++
	}
	return false
}

// effects counts what happened to containers; a probe's command changes none.
func (r *rig) effects() int {
	n := 0
	for _, h := range r.engine.History() {
		if h.Did != dockertest.DidExec {
			n++
		}
	}
	return n
}

// settle runs passes, moving time on to when the next one is due, until the
// service is at rest or the limits are reached. It returns how many passes had
// an effect.
func (r *rig) settle(maxActing int, maxTime time.Duration) int {
	r.t.Helper()
	begun, end, busy := r.acting, r.clock.Now().Add(maxTime), 0
	for r.clock.Now().Before(end) {
		acted := r.acting
		r.pass()
		r.sync()
		if busy++; r.acting > acted || r.last.RequeueAfter != time.Millisecond || r.lastErr != nil {
			busy = 0
		}
		if busy > 100 { // others may have been due at once, but not for ever
			r.t.Fatalf("busy without an effect: %s; %v", r.describe(), r.last.Conditions)
		}
		if acted = r.acting - begun; acted > maxActing {
			r.t.Fatalf("%d acting passes and no end: %s; %v; err %v", acted, r.describe(), r.last.Conditions, r.lastErr)
		}
		if r.resting() {
			break
		}
		wait := r.last.RequeueAfter
		if r.lastErr != nil || wait == 0 {
			wait = 200 * time.Millisecond
		}
		r.clock.Advance(min(wait, 2*time.Second))
	}
	return r.acting - begun
}

// passFor runs passes for that long, one every 100 ms.
func (r *rig) passFor(d time.Duration) {
	for end := r.clock.Now().Add(d); r.clock.Now().Before(end); r.clock.Advance(100 * time.Millisecond) {
		r.pass()
		r.sync()
	}
}

// resting reports whether the controller waits for nothing but a failed first
// deploy's next try.
func (r *rig) resting() bool {
	r.plane.view() // lets ended drains end
	if r.lastErr != nil || len(r.plane.draining) > 0 {
		return false
	}
	if r.last.RequeueAfter == 0 {
		return true
	}
	_, err := r.store.GetActiveRelease(context.Background(), r.service)
	return errors.Is(err, store.ErrNotFound) && r.attempt().State == store.AttemptFailed &&
		r.memory.retryAt(r.service).Sub(r.clock.Now()) >= r.last.RequeueAfter && r.ownRunning() == 0
}

// sync lets the data plane take the newest table, as its controller would.
func (r *rig) sync() {
	state, err := r.store.Routes(context.Background())
	if err != nil {
		r.t.Fatalf("routes: %v", err)
	}
	r.plane.push(state)
}

func (r *rig) ready() reconcile.Condition {
	if len(r.last.Conditions) == 0 {
		return reconcile.Condition{}
	}
	return r.last.Conditions[0]
}

func (r *rig) attempt() store.AttemptService {
	r.t.Helper()
	d, err := r.store.GetDesiredService(context.Background(), r.service)
	if err != nil {
		r.t.Fatalf("desired: %v", err)
	}
	a, err := r.store.GetAttempt(context.Background(), d.AttemptID)
	if err != nil {
		r.t.Fatalf("attempt: %v", err)
	}
	return a.Services[0]
}

// running lists the images of the running containers, sorted by name.
func (r *rig) running() []string {
	var out []string
	for _, c := range r.engine.Containers() {
		if c.Running() {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	return out
}

// ownRunning counts the running containers that are the rig's.
func (r *rig) ownRunning() int {
	n := 0
	for _, c := range r.engine.Containers() {
		if c.Running() && c.Labels[docker.LabelInstance] == rigInstance {
			n++
		}
	}
	return n
}

func (r *rig) describe() string {
	out := ""
	for _, c := range r.engine.Containers() {
		out += fmt.Sprintf("%s(%s) ", c.Name, c.Status)
	}
	return out
}

// simProber asks the simulated containers.
type simProber struct{ engine *dockertest.Engine }

func (p simProber) Probe(ctx context.Context, addr netip.AddrPort, declared *spec.Probe) (bool, string) {
	if declared == nil {
		if err := p.engine.TCP(ctx, addr); err != nil {
			return false, err.Error()
		}
		return true, ""
	}
	status, err := p.engine.HTTP(ctx, addr, declared.Path)
	if err != nil {
		return false, err.Error()
	}
	return status >= 200 && status < 300, fmt.Sprintf("GET %s answered %d", declared.Path, status)
}

// simPlane is a data plane that takes tables at once and has requests in
// flight on every target it loses, for a while.
type simPlane struct {
	clock    *dockertest.Clock
	down     bool
	version  int64
	targets  map[string]netip.AddrPort
	draining map[string]time.Time // since
	drainFor time.Duration
}

func (p *simPlane) push(s store.RouteState) {
	if p.down || s.Version == p.version {
		return
	}
	next := map[string]netip.AddrPort{}
	for _, a := range s.Active {
		if len(a.Route.Hosts) == 0 {
			continue
		}
		for _, t := range a.Targets {
			next[t.Container] = t.Address
			delete(p.draining, t.Container)
		}
	}
	for name := range p.targets {
		if _, stays := next[name]; !stays {
			p.draining[name] = p.clock.Now()
		}
	}
	p.targets, p.version = next, s.Version
}

func (p *simPlane) view() IngressView {
	if p.down {
		return IngressView{}
	}
	v := IngressView{Known: true, Acked: p.version, Reported: p.version, InFlight: map[string]TargetTraffic{}}
	for name := range p.targets {
		v.InFlight[name] = TargetTraffic{InFlight: 1}
	}
	for name, since := range p.draining {
		if p.clock.Now().Sub(since) >= p.drainFor {
			delete(p.draining, name)
			continue
		}
		v.InFlight[name] = TargetTraffic{InFlight: 1, Draining: true, DrainingSince: since}
	}
	return v
}

// busy reports whether the data plane sends a container requests or has some
// in flight on it.
func (p *simPlane) busy(name string) bool {
	_, routed := p.targets[name]
	_, drains := p.draining[name]
	return routed || drains
}

// watchedStore counts writes and shows changes of the active release.
type watchedStore struct {
	*sqlite.Store
	writes   int
	puller   *Puller
	onActive func(before, after store.ActiveRelease)
	onWrite  func() // before and after each write; may panic to cut the pass
}

func (s *watchedStore) cutPoint() {
	if s.onWrite != nil {
		s.onWrite()
	}
}

func (s *watchedStore) TakeAddress(ctx context.Context, q store.AddressRequest) (netip.Addr, error) {
	s.cutPoint()
	defer s.cutPoint()
	return s.Store.TakeAddress(ctx, q)
}

func (s *watchedStore) FreeAddress(ctx context.Context, app, container string, now time.Time) error {
	s.cutPoint()
	defer s.cutPoint()
	return s.Store.FreeAddress(ctx, app, container, now)
}

func (s *watchedStore) SaveSubnet(ctx context.Context, n store.Subnet) error {
	s.cutPoint()
	defer s.cutPoint()
	return s.Store.SaveSubnet(ctx, n)
}

func (s *watchedStore) SaveKeptLog(ctx context.Context, l store.KeptLog) error {
	s.cutPoint()
	defer s.cutPoint()
	return s.Store.SaveKeptLog(ctx, l)
}

func (s *watchedStore) DeleteActiveRelease(ctx context.Context, service string) (int64, error) {
	s.cutPoint()
	defer s.cutPoint()
	return s.Store.DeleteActiveRelease(ctx, service)
}

func (s *watchedStore) DeletePendingTeardown(ctx context.Context, name string) error {
	s.cutPoint()
	defer s.cutPoint()
	return s.Store.DeletePendingTeardown(ctx, name)
}

func (s *watchedStore) UpdateAttemptService(ctx context.Context, u store.AttemptService) error {
	s.cutPoint()
	defer s.cutPoint()
	s.writes++
	return s.Store.UpdateAttemptService(ctx, u)
}

func (s *watchedStore) CreateRelease(ctx context.Context, rel store.Release) (store.Release, error) {
	s.cutPoint()
	defer s.cutPoint()
	s.writes++
	return s.Store.CreateRelease(ctx, rel)
}

func (s *watchedStore) SetActiveRelease(ctx context.Context, a store.ActiveRelease) (store.ActiveRelease, error) {
	s.cutPoint()
	defer s.cutPoint()
	s.writes++
	if s.onActive != nil {
		before, err := s.GetActiveRelease(ctx, a.Service)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return a, err
		}
		s.onActive(before, a)
	}
	return s.Store.SetActiveRelease(ctx, a)
}
