package application

import (
	"net/netip"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

func TestTheDelayBeforeARestartDoublesUpToABoundAndStartsOver(t *testing.T) {
	b := NewRestartBackoff(time.Second, 5*time.Second, time.Minute)
	now := rigStart
	for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 5 * time.Second, 5 * time.Second} {
		until := b.Note("web", now)
		if got := until.Sub(now); got != want {
			t.Errorf("end %d: wait %s, want %s", i+1, got, want)
		}
		now = until
	}
	if got := b.Note("other", now).Sub(now); got != time.Second {
		t.Errorf("the first end of another: wait %s", got)
	}
	now = now.Add(time.Minute)
	if got := b.Note("web", now).Sub(now); got != time.Second {
		t.Errorf("after it held out: wait %s", got)
	}
	if got := NewRestartBackoff(0, time.Second, time.Second).Note("web", now); !got.Equal(now) {
		t.Errorf("without a base: wait until %s at %s", got, now)
	}
}

func TestTheDelayBeforeARestartIsSharedAndInMemoryAlone(t *testing.T) {
	shared := NewRestartBackoff(time.Second, time.Minute, time.Minute)
	one, two := New("shop-web", nil, nil, WithRestartBackoff(shared)), New("shop-api", nil, nil, WithRestartBackoff(shared))
	if one.memory.backoff != shared || two.memory.backoff != shared {
		t.Error("two controllers do not share one delay")
	}

	r := startRig(t)
	r.apply(r.spec(r.image("crashes:1", dockertest.Behaviour{PerRun: func(run dockertest.Run) dockertest.Behaviour {
		b := dockertest.Behaviour{Port: 8080}
		if run.Number > 0 {
			b.Exit = &dockertest.Exit{After: 50 * time.Millisecond, Code: 1}
		}
		return b
	}})))
	r.settle(20, time.Minute)
	name := r.running()[0]
	r.engine.Kill(name, 1, false)
	var due time.Time
	for range 600 {
		r.pass()
		r.sync()
		if c, err := r.engine.Inspect(t.Context(), name); err == nil && !c.Running() {
			if due = r.memory.record(r.service, c.ID).restart; due.Sub(r.clock.Now()) > 3*time.Second {
				break
			}
		}
		r.clock.Advance(100 * time.Millisecond)
	}
	begun := r.starts(name)
	if due.Sub(r.clock.Now()) <= 3*time.Second {
		t.Fatalf("%d starts and the wait is until %s at %s", begun, due, r.clock.Now())
	}
	r.passFor(time.Second)
	if got := r.starts(name); got != begun {
		t.Fatalf("started again before its time")
	}
	r.memory = NewMemory(nil) // as after a restart of the control plane
	r.passFor(time.Second)
	if got := r.starts(name); got == begun {
		t.Error("the wait outlived the memory")
	}
}

func (r *rig) starts(name string) int {
	n := 0
	for _, h := range r.engine.History() {
		if h.Did == dockertest.DidStart && h.Name == name {
			n++
		}
	}
	return n
}

// address is where the one running container listens.
func (r *rig) address() netip.AddrPort {
	r.t.Helper()
	c, err := r.engine.Inspect(r.t.Context(), r.running()[0])
	if err != nil {
		r.t.Fatal(err)
	}
	return netip.AddrPortFrom(c.Address, 8080)
}

func TestTheStopGraceHasADefaultThatNonsenseKeeps(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		0: spec.DefaultStopGrace, -time.Second: spec.DefaultStopGrace, 7 * time.Second: 7 * time.Second,
	} {
		if got := New("shop-web", nil, nil, WithStopGrace(given)).timing.StopGrace; got != want {
			t.Errorf("given %s: %s, want %s", given, got, want)
		}
	}
}

func TestAProgramThatIgnoresTheSignalIsKilledAfterItsGrace(t *testing.T) {
	for said, want := range map[time.Duration]time.Duration{3 * time.Second: 3 * time.Second, 0: spec.DefaultStopGrace} {
		grace := func(s *spec.Service) { s.StopGrace = said }
		r := startRig(t)
		r.apply(r.spec("stuck:1", grace))
		r.settle(20, time.Minute)
		name := r.running()[0]
		r.apply(r.spec("good:1", grace))
		r.settle(20, time.Minute)
		var asked, died dockertest.Mutation
		for _, h := range r.engine.History() {
			switch {
			case h.Name != name:
			case h.Did == dockertest.DidStop:
				asked = h
			case h.Did == dockertest.DidDie:
				died = h
			}
		}
		if got := died.At.Sub(asked.At); got != want || died.Status == docker.StatusRunning {
			t.Errorf("a grace of %s: killed after %s, want %s", said, got, want)
		}
	}
}

func TestARestartKeepsTheImageThoughItsTagMoved(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	before, err := r.store.GetRelease(t.Context(), r.attempt().ReleaseID)
	if err != nil {
		t.Fatal(err)
	}
	r.engine.AddImage("good:1", docker.Image{SizeBytes: 7}, images["good:2"])
	r.change("restart", func(d *store.DesiredService) { d.RestartNonce = "1" })
	r.settle(30, time.Minute)
	after, err := r.store.GetRelease(t.Context(), r.attempt().ReleaseID)
	if err != nil || after.ID == before.ID || after.ImageID != before.ImageID {
		t.Errorf("before %s of %s, after %s of %s, %v", before.ID, before.ImageID, after.ID, after.ImageID, err)
	}
	r.change("update", func(*store.DesiredService) {})
	r.settle(30, time.Minute)
	if moved, err := r.store.GetRelease(t.Context(), r.attempt().ReleaseID); err != nil || moved.ImageID == before.ImageID {
		t.Errorf("an update stays with image %s, %v", moved.ImageID, err)
	}
}

func TestACrashingContainerIsStoppedOnceNoRequestComesToIt(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	name := r.running()[0]
	r.build = func() *Controller {
		c := r.controller()
		c.planned = func(_ *World, p Plan) {
			for _, a := range p.Actions {
				if a.Kind == ActStop && r.plane.busy(a.Container) {
					t.Errorf("%s while the routes lead to it", a)
				}
			}
		}
		return c
	}
	for range 3 { // it serves again after each
		r.passFor(time.Second)
		r.end(name)
	}
	r.passFor(30 * time.Second)
	c, err := r.engine.Inspect(t.Context(), name)
	if err != nil || c.Restart != docker.RestartNo {
		t.Errorf("restart policy %v, %v", c, err)
	}
	if c := r.ready(); c.Reason != string(ReasonDeployed) {
		t.Errorf("condition %+v; %s", c, r.describe())
	}
}
