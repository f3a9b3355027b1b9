package fleet_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/store"
)

// model drives a fleet as a controller does: it makes what is not found, on the nodes
// that were not given up, while nodes come and go, answers are short, and the daemon
// begins anew.
type model struct {
	*rig
	ids  []string // of machines
	over map[string]bool
	lost map[string]bool
}

// home are the nodes that a controller would choose.
func (m *model) home() []string {
	out := []string{""}
	for _, id := range m.ids {
		if !m.lost[id] && !m.over[id] {
			out = append(out, id)
		}
	}
	return out
}

// placement is what a store keeps.
func (m *model) placement() store.Placement {
	p := on(m.home()...)
	for _, id := range m.ids {
		if m.lost[id] {
			p.Lost = append(p.Lost, id)
		}
	}
	return p
}

func (m *model) member(id string) (online bool) {
	m.others.mu.Lock()
	defer m.others.mu.Unlock()
	return m.others.all[id].Online
}

// ruled out are nodes on which nothing counts.
func (m *model) ruledOut(id string) bool {
	return id != "" && (m.over[id] || m.lost[id] && !m.member(id))
}

// has are the nodes that count and have a container in truth.
func (m *model) has(name string) []string {
	var out []string
	for _, id := range append([]string{""}, m.ids...) {
		if !m.ruledOut(id) && slices.Contains(m.names(id), name) {
			out = append(out, id)
		}
	}
	return out
}

func (m *model) view(rt *rapid.T) docker.Runtime {
	if rapid.Bool().Draw(rt, "all") {
		return m.All()
	}
	return m.For(m.placement())
}

// inspect looks at one container, and holds the answer against the truth.
func (m *model) inspect(rt *rapid.T, name string) error {
	s, err := m.view(rt).Inspect(m.ctx, name)
	switch {
	case docker.IsNotFound(err) && len(m.has(name)) > 0:
		rt.Fatalf("%s is not found, and is on %q", name, m.has(name))
	case err == nil && !slices.Contains(m.names(s.Node), name):
		rt.Fatalf("%s is found on %q, which has %v", name, s.Node, m.names(s.Node))
	case err == nil && m.ruledOut(s.Node):
		rt.Fatalf("%s is found on %q, which does not count", name, s.Node)
	case err != nil && !docker.IsNotFound(err) && !docker.IsUnavailable(err):
		rt.Fatalf("inspect %s: %v", name, err)
	}
	return err
}

func (m *model) create(rt *rapid.T, n int) {
	name := replica(n).Name
	if err := m.inspect(rt, name); !docker.IsNotFound(err) {
		return
	}
	home := m.home()
	id, err := m.For(m.placement()).Create(m.ctx, replica(n))
	if err != nil {
		if !docker.IsUnavailable(err) {
			rt.Fatalf("create %s: %v", name, err)
		}
		return
	}
	if at := home[n%len(home)]; !slices.Equal(m.has(name), []string{at}) {
		rt.Fatalf("%s was made as %s on %q, and is on %q", name, id, at, m.has(name))
	}
}

// list holds a listing against the truth. Nothing lies meanwhile.
func (m *model) list(rt *rapid.T) {
	list, err := m.view(rt).List(m.ctx, ofService())
	if err != nil {
		rt.Fatalf("list: %v", err)
	}
	listed := map[string]string{}
	for _, s := range list {
		if other, twice := listed[s.Name]; twice {
			rt.Fatalf("%s is listed on %q and %q", s.Name, other, s.Node)
		}
		listed[s.Name] = s.Node
		if m.ruledOut(s.Node) || !s.Away && !slices.Contains(m.names(s.Node), s.Name) || s.Away && m.answers(s.Node) {
			rt.Fatalf("listed %s on %q, away %v", s.Name, s.Node, s.Away)
		}
	}
	for _, id := range append([]string{""}, m.ids...) {
		if m.ruledOut(id) || !m.answers(id) {
			continue
		}
		for _, name := range m.names(id) {
			if _, ok := listed[name]; !ok {
				rt.Fatalf("%s is on %q and not listed: %v", name, id, listed)
			}
		}
	}
}

// answers reports whether a node's engine can be reached.
func (m *model) answers(id string) bool {
	_, err := m.engine(id).Info(m.ctx)
	return err == nil && (id == "" || m.member(id))
}

func TestWhateverComesAndGoesNothingIsSaidToBeGoneThatMayBeThere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, "n1", "n2", "n3")
		m := &model{rig: r, ids: []string{"n1", "n2", "n3"}, over: map[string]bool{}, lost: map[string]bool{}}
		defer r.Close()
		anyone := rapid.IntRange(0, 5)
		machine := rapid.SampledFrom(m.ids)
		call := func(what func(name string) error) func(*rapid.T) {
			return func(rt *rapid.T) {
				name := replica(anyone.Draw(rt, "replica")).Name
				before := m.has(name)
				if err := what(name); docker.IsNotFound(err) && len(before) > 0 {
					rt.Fatalf("%s is not found, and is on %q", name, before)
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"create":  func(rt *rapid.T) { m.create(rt, anyone.Draw(rt, "replica")) },
			"inspect": func(rt *rapid.T) { _ = m.inspect(rt, replica(anyone.Draw(rt, "replica")).Name) },
			"start":   call(func(name string) error { return r.All().Start(r.ctx, name) }),
			"stop":    call(func(name string) error { return r.All().Stop(r.ctx, name, 0) }),
			"remove": func(rt *rapid.T) {
				name := replica(anyone.Draw(rt, "replica")).Name
				before := m.has(name)
				_ = r.All().Stop(r.ctx, name, 0)
				if err := r.All().Remove(r.ctx, name); err == nil && len(before) == 1 && len(m.has(name)) > 0 {
					rt.Fatalf("%s was removed, and is on %q", name, m.has(name))
				}
			},
			"list": m.list,
			"come or go": func(rt *rapid.T) {
				if id := machine.Draw(rt, "machine"); !m.over[id] {
					r.set(id, !m.member(id))
				}
			},
			"engine fails": func(rt *rapid.T) {
				id := machine.Draw(rt, "machine")
				r.engine(id).SetDown(rapid.Bool().Draw(rt, "down") || !m.member(id))
				r.clock.Advance(20 * time.Second) // for which nobody asks a node that did not answer
			},
			"give up": func(rt *rapid.T) {
				if id := machine.Draw(rt, "machine"); !m.member(id) {
					m.lost[id] = true
					r.For(m.placement())
				}
			},
			"sweep": func(rt *rapid.T) {
				id := machine.Draw(rt, "machine")
				o := fleet.Sweeping{Placed: func(string) (store.Placement, bool) { return m.placement(), true }}
				switch got, err := r.Sweep(r.ctx, id, o); {
				case err == nil && len(got.Waiting) == 0:
					delete(m.lost, id)
					r.For(m.placement())
				case err != nil && !docker.IsUnavailable(err):
					rt.Fatalf("sweep: %v", err)
				}
			},
			"gone": func(rt *rapid.T) {
				if id := machine.Draw(rt, "machine"); len(m.over) < 2 && rapid.IntRange(0, 9).Draw(rt, "dice") == 0 {
					r.gone(id)
					m.over[id] = true
				}
			},
			"daemon": func(*rapid.T) {
				r.open(nil)
				r.For(m.placement())
			},
			"short answer": func(rt *rapid.T) {
				id := machine.Draw(rt, "machine")
				kind := rapid.SampledFrom([]dockertest.Call{dockertest.CallList, dockertest.CallInspect}).Draw(rt, "call")
				r.engine(id).Script(dockertest.Fault{Call: kind, Kind: dockertest.LieOnce, Lie: dockertest.LieOmit})
				_, _ = m.view(rt).List(r.ctx, ofService())
				_ = m.inspect(rt, replica(anyone.Draw(rt, "replica")).Name)
				r.engine(id).ClearScript()
				_, _ = r.All().List(r.ctx, ofService()) // two in a row are believed
			},
			"lost answer": func(rt *rapid.T) {
				id := machine.Draw(rt, "machine")
				r.engine(id).Script(dockertest.Fault{Call: dockertest.CallCreate, Kind: dockertest.FailAfter})
				m.create(rt, anyone.Draw(rt, "replica"))
				r.engine(id).ClearScript()
			},
			"time": func(*rapid.T) { r.clock.Advance(20 * time.Second) },
		})
	})
}
