package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// cut is one fault at one call, counted over store and provider together.
type cut struct {
	at    int // 0 is never
	mode  cutMode
	calls int
	names []string
}

type cutMode int

const (
	failBefore cutMode = iota
	failAfter
	dieBefore
	dieAfter
	cutModes
)

func (m cutMode) String() string {
	return [...]string{"fails before its effect", "fails after its effect", "dies before its effect", "dies after its effect"}[m]
}

// killed is what a process that dies throws.
type killed struct{ call string }

var errCut = fmt.Errorf("%w: cut", provider.ErrUnavailable)

// call makes one call, with the fault when it is due.
func (c *cut) call(name string, do func() error) error {
	c.calls++
	c.names = append(c.names, name)
	if c.calls != c.at {
		return do()
	}
	switch c.mode {
	case failBefore:
		return errCut
	case dieBefore:
		panic(killed{name})
	case failAfter:
		if err := do(); err != nil {
			return err
		}
		return errCut
	default:
		_ = do()
		panic(killed{name})
	}
}

type cutStore struct {
	provider.StateStore
	cut *cut
}

func (s cutStore) Get(ctx context.Context, key string) (rec provider.Record, err error) {
	err = s.cut.call("store get", func() error { rec, err = s.StateStore.Get(ctx, key); return err })
	return rec, err
}

func (s cutStore) Put(ctx context.Context, key string, value []byte, prior provider.Version) (v provider.Version, err error) {
	err = s.cut.call("store put", func() error { v, err = s.StateStore.Put(ctx, key, value, prior); return err })
	return v, err
}

func (s cutStore) Delete(ctx context.Context, key string, prior provider.Version) error {
	return s.cut.call("store delete", func() error { return s.StateStore.Delete(ctx, key, prior) })
}

type cutProvider struct {
	*fake
	cut *cut
}

func (p cutProvider) Provision(ctx context.Context, req provider.ProvisionRequest) (res *provider.ProvisionResult, err error) {
	err = p.cut.call("provision", func() error { res, err = p.fake.Provision(ctx, req); return err })
	return res, err
}

func (p cutProvider) Deploy(ctx context.Context, req provider.DeployRequest) (res *provider.DeployResult, err error) {
	err = p.cut.call("deploy", func() error { res, err = p.fake.Deploy(ctx, req); return err })
	return res, err
}

func (p cutProvider) Rollback(ctx context.Context, instance, release id.ID) error {
	return p.cut.call("rollback", func() error { return p.fake.Rollback(ctx, instance, release) })
}

func (p cutProvider) Scale(ctx context.Context, instance id.ID, size provider.ResourceSpec) error {
	return p.cut.call("scale", func() error { return p.fake.Scale(ctx, instance, size) })
}

func (p cutProvider) Deprovision(ctx context.Context, instance id.ID) error {
	return p.cut.call("deprovision", func() error { return p.fake.Deprovision(ctx, instance) })
}

func (p cutProvider) Step(ctx context.Context, instance id.ID) (d time.Duration, err error) {
	err = p.cut.call("step", func() error { d, err = p.fake.Step(ctx, instance); return err })
	return d, err
}

func (p cutProvider) Status(ctx context.Context, instance id.ID) (st *provider.InstanceStatus, err error) {
	err = p.cut.call("status", func() error { st, err = p.fake.Status(ctx, instance); return err })
	return st, err
}

// life is a story that is told once for every cut: what a user does, in order.
type life struct {
	*world
	cut    *cut
	deaths int
}

func newLife(t testing.TB, c *cut) *life {
	l := &life{world: newWorld(t, Options{}), cut: c}
	l.registry.Register("here", cutProvider{l.fake, c})
	l.restart()
	return l
}

// restart is a new process on the same store.
func (l *life) restart() {
	l.Manager = l.manager(cutStore{l.store, l.cut}, l.registry, Options{})
}

// do repeats act until it succeeds, as a user would, and restarts a process that
// died.
func (l *life) do(what string, act func() error) {
	l.t.Helper()
	for range 5 {
		err := l.survive(act)
		if err == nil {
			return
		}
		if !errors.Is(err, errCut) && !errors.Is(err, errDied) {
			l.t.Fatalf("%s: cut %d, which %s: %v", what, l.cut.at, l.cut.mode, err)
		}
	}
	l.t.Fatalf("%s: cut %d, which %s: still failing", what, l.cut.at, l.cut.mode)
}

var errDied = errors.New("the process died")

// survive runs act, and what a new process does first when that kills this one.
func (l *life) survive(act func() error) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if _, ok := p.(killed); !ok {
			panic(p)
		}
		l.deaths++
		l.restart()
		_, err = l.Resume(l.ctx())
		err = errors.Join(errDied, err)
	}()
	return act()
}

// settle drives what is open to its end.
func (l *life) settle() {
	l.t.Helper()
	l.do("settle", func() error {
		for range 1000 {
			wait, err := l.Step(l.ctx(), l.workload)
			if err != nil || wait == 0 {
				return err
			}
			l.clock = l.clock.Add(wait)
		}
		return errors.New("a thousand steps, and the rollout is still open")
	})
}

// deploy asks until a rollout is recorded, and reports it.
func (l *life) deploy(services ...provider.ServiceDeploySpec) id.ID {
	l.t.Helper()
	req := l.change(services...)
	var ro id.ID
	l.do("deploy", func() error {
		res, err := l.Deploy(l.ctx(), req, With{})
		if res != nil {
			ro = res.Rollout.ID
			return nil // how it ends is seen later
		}
		return err
	})
	return ro
}

// tell is the story. It returns what is to be the same for every cut.
func (l *life) tell() []string {
	l.do("provision", func() error { _, err := l.Provision(l.ctx(), "here", l.request(), With{}); return err })
	l.settle()
	l.deploy(image("web", "web:2"))
	l.settle()
	l.do("scale", func() error { return l.Scale(l.ctx(), l.workload, provider.ResourceSpec{Replicas: 2}) })
	l.deploy(image("cache", "cache:broken"))
	l.settle()
	cancelled := l.deploy(image("web", "web:slow"))
	l.do("cancel", func() error { _, err := l.Cancel(l.ctx(), l.workload, cancelled); return err })
	l.settle()
	l.deploy(image("cache", "cache:2"))
	l.settle()
	var v1 id.ID
	l.do("list", func() error {
		releases, _, err := l.Releases(l.ctx(), l.workload, Page{})
		if err == nil {
			v1 = releases[len(releases)-1].ID
		}
		return err
	})
	l.do("rollback", func() error {
		if rel, err := l.Current(l.ctx(), l.workload); err != nil || rel.ID == v1 {
			return err // the cut hid that it was recorded
		}
		_, err := l.Rollback(l.ctx(), l.workload, v1, With{})
		return err
	})
	l.settle()
	told := l.told()
	l.do("deprovision", func() error { return l.Deprovision(l.ctx(), l.workload) })
	if len(l.store.records) != 0 || len(l.fake.instances) != 0 {
		l.t.Fatalf("cut %d, which %s: left after deprovision: %v, %v", l.cut.at, l.cut.mode, l.store.records, l.fake.instances)
	}
	return told
}

// told is the history as the store has it, and what the provider serves.
func (l *life) told() []string {
	rec, err := decode(l.store.records[DefaultPrefix+"/"+l.workload.String()].Value)
	if err != nil {
		l.t.Fatal(err)
	}
	var out []string
	for _, rel := range rec.Releases {
		out = append(out, fmt.Sprintf("release %d %s served %v", rel.Version, rel.Hash, rel.ServedAt != nil))
	}
	for _, ro := range rec.Rollouts {
		out = append(out, fmt.Sprintf("rollout %d %s of %d %s", ro.Number, ro.Kind, ro.ReleaseVersion, ro.State))
	}
	in, current := l.fake.instances[l.workload], rec.release(rec.Current)
	out = append(out, fmt.Sprintf("current %d, open %v, provider serves it %v, %v, replicas %d",
		current.Version, rec.Open, in.serving == current.Ref && in.target == current.Ref, in.images(), in.scaled.Replicas))
	return out
}

func TestACrashBeforeOrAfterAnyCallConverges(t *testing.T) {
	clean := newLife(t, &cut{})
	want := clean.tell()
	cuts, deaths, told := clean.cut.calls, 0, 0
	for at := 1; at <= cuts; at++ {
		if (testing.Short() || underRace) && at%5 != 0 {
			continue
		}
		told++
		for mode := range cutModes {
			l := newLife(t, &cut{at: at, mode: mode})
			if got := l.tell(); !slices.Equal(got, want) {
				t.Fatalf("cut %d (%s), which %s:\n%q\nwant\n%q", at, l.cut.names[at-1], mode, got, want)
			}
			deaths += l.deaths
		}
	}
	for _, line := range want {
		t.Log(line)
	}
	t.Logf("%d calls, %d cut points, %d deaths of the process", cuts, told*int(cutModes), deaths)
	if deaths != 2*told {
		t.Fatalf("%d deaths, want %d", deaths, 2*told)
	}
}

// A rollout whose process died and whose time is up turns back; one that became
// ready meanwhile has succeeded.
func TestResumeDecidesByDeadlineAndByWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		image string
		want  State
	}{{"web:slow", StateRolledBack}, {"web:2", StateSucceeded}} {
		t.Run(c.image, func(t *testing.T) {
			w := newWorld(t, Options{}).provisioned()
			res, err := w.Deploy(w.ctx(), w.change(image("web", c.image)), With{})
			if err != nil {
				t.Fatal(err)
			}
			w.clock = w.clock.Add(24 * time.Hour)
			w.Manager = w.manager(w.store, w.registry, Options{})
			open, err := w.Resume(w.ctx())
			if err != nil || len(open) != 1 || open[0].Workload != w.workload || open[0].Rollout.ID != res.Rollout.ID {
				t.Fatalf("%+v, %v", open, err)
			}
			w.drive()
			if ro := w.rollout(res.Rollout.ID); ro.State != c.want {
				t.Fatalf("rollout %+v", ro)
			}
			if open, err := w.Resume(w.ctx()); err != nil || len(open) != 0 {
				t.Fatalf("%+v, %v", open, err)
			}
		})
	}
}

func TestResumeGoesOnWithTheOthersWhenOneFails(t *testing.T) {
	w := newWorld(t, Options{}).provisioned()
	if _, err := w.Deploy(w.ctx(), w.change(image("web", "web:slow")), With{}); err != nil {
		t.Fatal(err)
	}
	first := w.ids.New(id.KindWorkload)
	key := DefaultPrefix + "/" + id.ID.String(first)
	w.store.records[key] = provider.Record{Value: []byte(`{"format":1,"future":true}`), Version: "x"}
	open, err := w.Resume(w.ctx())
	w.wantErr(err, ErrRecord)
	if len(open) != 1 || open[0].Workload != w.workload {
		t.Fatalf("%+v", open)
	}
}
