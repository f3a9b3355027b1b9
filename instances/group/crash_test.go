package group_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
)

// place is where effects happen.
type place string

const (
	atStore    place = "store"
	atProvider place = "provider"
	atNode     place = "node and cache"
)

// cut says where a process dies: before or after the number-th effect of a place.
type cut struct {
	place  place
	number int
	after  bool
}

func (c cut) String() string {
	when := "before"
	if c.after {
		when = "after"
	}
	return fmt.Sprintf("%s %d, %s", c.place, c.number, when)
}

func providerEffect(method string) bool {
	return method == "CreateInstance" || method == "DeleteInstance"
}

// arm arranges that the process dies at the cut.
func (w *world) arm(c cut) {
	switch c.place {
	case atStore:
		mode := storagetest.FailBefore
		if c.after {
			mode = storagetest.FailAfter
		}
		w.faulty.Inject(storagetest.Fault{At: c.number, Mode: mode, Err: errCut, Dies: true})
		w.armed = true
	case atNode:
		w.effects = effects{at: c.number, after: c.after}
	}
	n := 0
	w.cloud.OnCall(func(_ context.Context, call fake.Call) error {
		if w.dead() {
			return errCut
		}
		if !providerEffect(call.Method) {
			return nil
		}
		if !call.After {
			n++
		}
		if c.place == atProvider && n == c.number && call.After == c.after {
			w.die()
			return errCut
		}
		return nil
	})
}

// story is something that happens to a group, from one fixed point to another.
type story struct {
	name    string
	prepare func(testing.TB) *world
	begin   func(*world)
	made    int // machines that are made in all
}

func stories() []story {
	two := func(t testing.TB) *world { return settled(t, 2) }
	return []story{
		{"create", func(t testing.TB) *world { w := newWorld(t, 2); w.start(); return w }, func(*world) {}, 2},
		{"rotate", two, func(w *world) { w.source.kind = "s2" }, 4},
		{"delete", two, func(w *world) { w.source.size = 1 }, 2},
		{"delete the group", two, func(w *world) { w.source.absent = true }, 2},
		{"replace a silent one", two, func(w *world) { w.nodes.mute[w.members()[0]] = true }, 3},
		{"replace one that vanished", two, func(w *world) { w.cloud.Vanish(w.members()[0]) }, 3},
		{"a notice", two, func(w *world) {
			id := w.members()[0]
			w.nodes.signs[id] = group.Sign{HeardAt: w.clock.Now(), Noticed: true, NoticeAt: w.clock.Now().Add(2 * time.Minute)}
		}, 3},
	}
}

// atRest reports whether all is as the configuration says.
func (w *world) atRest() bool {
	size, members := w.source.size, w.members()
	if w.source.absent {
		size = 0
	}
	if len(members) != size || len(w.own()) != size {
		return false
	}
	alive := map[string]bool{}
	for _, one := range w.own() {
		alive[one.InstanceID] = one.Status == infra.StatusRunning
	}
	for _, id := range members {
		if !w.joined[id] || w.nodes.mute[id] || !alive[id] || w.nodes.signs[id].Noticed {
			return false
		}
	}
	for _, r := range w.records() {
		if !r.State.Leaving() && r.Config.InstanceType != w.source.kind {
			return false
		}
	}
	return true
}

const mostActing = 50

// converge runs until all is at rest, and fails after mostActing passes that did
// something.
func (w *world) converge() {
	w.t.Helper()
	w.l.acting = 0
	for i := 0; !w.atRest(); i++ {
		w.pass()
		if w.l.acting > mostActing || i > 1000 {
			w.t.Errorf("not at rest after %d acting passes, %d in all: %s", w.l.acting, i, w.conditions())
			return
		}
	}
	w.run(30 * time.Second)
	w.stable()
}

func TestALeaderMayDieAtEveryEffect(t *testing.T) {
	total, most := 0, 0
	var mu sync.Mutex // guards most
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			w := s.prepare(t)
			w.faulty.Reset()
			provider := 0
			w.effects = effects{}
			w.cloud.OnCall(func(_ context.Context, call fake.Call) error {
				if !call.After && providerEffect(call.Method) {
					provider++
				}
				return nil
			})
			s.begin(w)
			w.refresh()
			w.converge()
			if w.made() != s.made {
				t.Errorf("%d machines were made, want %d", w.made(), s.made)
			}
			var cuts []cut
			counts := map[place]int{atStore: len(w.faulty.Effects()), atProvider: provider, atNode: w.effects.count}
			for _, at := range []place{atStore, atProvider, atNode} {
				for i := range counts[at] {
					cuts = append(cuts, cut{at, i + 1, false}, cut{at, i + 1, true})
				}
			}
			total += len(cuts)
			for i, c := range cuts {
				if inBrief() && i%13 != 0 {
					continue
				}
				t.Run(strings.ReplaceAll(c.String(), " ", "_"), func(t *testing.T) {
					t.Parallel()
					w := s.prepare(t)
					w.faulty.Reset()
					s.begin(w)
					w.refresh()
					w.arm(c)
					for i := 0; !w.dead() && i < 400; i++ {
						w.pass()
					}
					if !w.dead() {
						t.Skip("the effect was not reached: it is one that time decides about")
					}
					w.start()
					w.converge()
					if w.made() != s.made {
						t.Errorf("%d machines were made, want %d", w.made(), s.made)
					}
					mu.Lock()
					defer mu.Unlock()
					most = max(most, w.l.acting)
				})
			}
			t.Logf("%s: %d cut points", s.name, len(cuts))
		})
	}
	t.Logf("groups: %d cut points, at rest after at most %d acting passes", total, most)
	if total < 100 {
		t.Errorf("only %d cut points", total)
	}
}
