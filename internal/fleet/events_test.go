package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

// pass lets the time of a bubble pass.
func pass(d time.Duration) { <-time.After(d) }

// heard is what a caller of Watch gets.
type heard struct {
	r      *rig
	events []string
	ready  int
	ended  chan error
	cancel context.CancelFunc
}

// watch begins to listen, in the bubble of a test.
func (r *rig) watch() *heard {
	ctx, cancel := context.WithCancel(r.ctx)
	h := &heard{r: r, ended: make(chan error, 1), cancel: cancel}
	go func() {
		h.ended <- r.Watch(ctx, map[string]string{docker.LabelInstance: instance}, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			h.ready++
		}, func(node string, e docker.Event) {
			r.mu.Lock()
			defer r.mu.Unlock()
			h.events = append(h.events, fmt.Sprint(node, " ", e.Action))
		})
	}()
	synctest.Wait()
	return h
}

// took are the events since the last time, in order of node and action, and the nodes
// that were said to have been missed.
func (h *heard) took() (events, missed []string) {
	synctest.Wait()
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	events, missed = h.events, h.r.missed
	h.events, h.r.missed = nil, nil
	slices.Sort(events)
	slices.Sort(missed)
	return events, missed
}

func (h *heard) want(what string, events, missed []string) {
	h.r.t.Helper()
	gotEvents, gotMissed := h.took()
	if !slices.Equal(gotEvents, events) || !slices.Equal(gotMissed, missed) {
		h.r.t.Errorf("%s: heard %q, missed %q; want %q, %q", what, gotEvents, gotMissed, events, missed)
	}
}

func (h *heard) wantReady(times int) {
	h.r.t.Helper()
	synctest.Wait()
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	if h.ready != times {
		h.r.t.Errorf("ready was called %d times, want %d", h.ready, times)
	}
}

func (h *heard) end() {
	h.cancel()
	if err := <-h.ended; !errors.Is(err, context.Canceled) {
		h.r.t.Errorf("it ended with %v", err)
	}
}

func TestTheEventsOfAllNodesAreOneStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, dockertest.NewWallClock(), nil, "n1", "n2")
		h := r.watch()
		defer h.end()
		h.wantReady(1)
		r.up(on("", "n1", "n2"), 3)
		h.want("all are up", []string{" create", " start", "n1 create", "n1 start", "n2 create", "n2 start"}, nil)
	})
}

func TestANodesBrokenStreamEndsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, dockertest.NewWallClock(), nil, "n1", "n2")
		h := r.watch()
		defer h.end()
		r.set("n1", false)
		r.up(on("", "n2"), 2)
		h.want("n1 is away", []string{" create", " start", "n2 create", "n2 start"}, nil)
		_, err := r.engine("n2").Create(r.ctx, replica(4))
		r.must(err)
		r.set("n1", true)
		pass(15 * time.Second)
		h.want("n1 is back", []string{"n2 create"}, []string{"n1"})
		_, err = r.For(on("n1")).Create(r.ctx, replica(7))
		r.must(err)
		h.want("it goes on", []string{"n1 create"}, nil)
	})
}

func TestAStreamThatBreaksOffIsTakenUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, dockertest.NewWallClock(), nil, "n1")
		h := r.watch()
		defer h.end()
		r.engine("n1").Script(dockertest.Fault{Call: dockertest.CallEvents, Kind: dockertest.FailBefore, Times: 3})
		r.engine("n1").RestartEngine(true)
		pass(300 * time.Millisecond)
		h.want("while it fails", nil, nil)
		pass(2 * time.Second)
		h.want("when it no longer does", nil, []string{"n1"})
	})
}

func TestAMachineThatJoinsIsHeard(t *testing.T) {
	for _, told := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRigOn(t, dockertest.NewWallClock(), nil)
			h := r.watch()
			defer h.end()
			r.join("n1").AddImage(image, docker.Image{ID: "sha256:app"}, dockertest.Behaviour{})
			if told {
				r.Changed()
			} else {
				pass(20 * time.Second)
			}
			h.want("it joined", nil, []string{"n1"})
			r.up(on("n1"), 1)
			h.want("it is up", []string{"n1 create", "n1 start"}, nil)
		})
	}
}

func TestASlowNodeHoldsUpNobodysReadinessForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, dockertest.NewWallClock(), nil, "n1", "n2")
		r.engine("n1").Script(dockertest.Fault{Call: dockertest.CallEvents, Kind: dockertest.Hang})
		h := r.watch()
		defer h.end()
		h.wantReady(0)
		pass(5*time.Second + time.Millisecond)
		h.wantReady(1)
	})
}

func TestThisMachinesStreamEndsTheWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, dockertest.NewWallClock(), nil, "n1")
		h := r.watch()
		defer h.cancel()
		r.here.SetDown(true)
		if err := <-h.ended; !docker.IsUnavailable(err) {
			t.Errorf("it ended with %v", err)
		}
		r.here.SetDown(false)
		h = r.watch()
		defer h.end()
		r.up(on("n1"), 1)
		h.want("again", []string{"n1 create", "n1 start"}, nil)
	})
}

// What died or went while a node was heard is known when it is away.
func TestEventsKeepWhatIsKnownOfANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, dockertest.NewWallClock(), nil, "n1")
		h := r.watch()
		defer h.end()
		r.up(on("n1"), 3)
		n1 := r.engine("n1")
		r.must(n1.Stop(r.ctx, replica(0).Name, 0))
		r.must(n1.Stop(r.ctx, replica(1).Name, 0))
		r.must(n1.Remove(r.ctx, replica(1).Name))
		_, err := n1.Create(r.ctx, replica(5))
		r.must(err)
		synctest.Wait()
		r.set("n1", false)
		r.wantListed(r.For(on("n1")), "0a1b2c3d n1 exited away", "0a1b2c3d-r2 n1 running away", "0a1b2c3d-r5 n1 created away")
	})
}
