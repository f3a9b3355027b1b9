package dockertest_test

import (
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

func TestNextIsTheNextThingDue(t *testing.T) {
	w := newWorld(t)
	if at, ok := w.clock.Next(); ok {
		t.Fatalf("something is due at %v in an empty world", at)
	}
	w.run(w.spec("late", dockertest.Behaviour{Exit: &dockertest.Exit{After: 2 * time.Second}}))
	w.run(w.spec("soon", dockertest.Behaviour{Exit: &dockertest.Exit{After: time.Second}}))
	if at, _ := w.clock.Next(); at.Sub(epoch) != time.Second {
		t.Fatalf("next at %v", at)
	}
	w.must(w.Stop(w.ctx, "soon", 0))
	if at, _ := w.clock.Next(); at.Sub(epoch) != 2*time.Second {
		t.Fatalf("next at %v after the first was cancelled", at)
	}
}

func TestEverythingHappensAtItsOwnInstant(t *testing.T) {
	w := newWorld(t)
	w.run(w.spec("c0", dockertest.Behaviour{Exit: &dockertest.Exit{After: 1234 * time.Millisecond}}))
	w.clock.Advance(time.Hour)
	if got := w.inspect("c0").Exit.FinishedAt.Sub(epoch); got != 1234*time.Millisecond {
		t.Fatalf("ended after %v", got)
	}
	if w.since() != time.Hour {
		t.Fatalf("the clock stands at %v", w.since())
	}
}

func TestEnginesOnOneClockFormOneWorld(t *testing.T) {
	w := newWorld(t)
	other := dockertest.New(w.clock, dockertest.WithSeed("other"))
	a, err := w.Info(w.ctx)
	w.must(err)
	b, err := other.Info(w.ctx)
	w.must(err)
	if a.ID == b.ID {
		t.Fatal("two engines of one id")
	}
}
