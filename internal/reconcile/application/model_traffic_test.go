package application

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// lateFirst is an image whose first replica takes its time whenever it is
// started again; the others do not.
func lateFirst() dockertest.Behaviour {
	return dockertest.Behaviour{PerRun: func(run dockertest.Run) dockertest.Behaviour {
		b := images["good:1"]
		if run.Number > 0 && run.Spec.Labels[docker.LabelReplica] == "0" {
			b.Paths = map[string][]dockertest.StatusAt{"*": {{Status: 500}, {After: 20 * time.Second, Status: 200}}}
		}
		return b
	}}
}

// drawReplicas draws a service of more than one replica in most cases, so that
// there is something to lose halfway.
func (m *model) drawReplicas() spec.Service {
	image := rapid.SampledFrom([]string{"good:1", "good:2", "slow:1", "late:1", "exits:1"}).Draw(m.rt, "image")
	shape := []func(*spec.Service){rapid.SampledFrom([]func(*spec.Service){
		func(*spec.Service) {}, asRolling("", ""), asRolling("2", "1"), asRolling("0", "1"), asStateful,
	}).Draw(m.rt, "stands"), withReplicas(rapid.IntRange(1, 3).Draw(m.rt, "replicas"))}
	if rapid.IntRange(0, 2).Draw(m.rt, "group") > 0 {
		shape = append(shape, asGroup(rapid.SampledFrom([]string{"side:1", "side:once"}).Draw(m.rt, "sidecar")))
	}
	if rapid.IntRange(0, 3).Draw(m.rt, "kept") == 0 {
		shape = append(shape, func(s *spec.Service) { s.KeepPrevious = 20 * time.Second })
	}
	s := m.spec(image, shape...)
	s.Domains = []string{m.service + ".example"}
	return s
}

// ends ends the containers of the service whose name says so; events tell of it.
func (m *model) ends(which func(name string) bool) {
	for _, name := range m.running() {
		if name != m.foreign && which(name) {
			m.engine.Kill(name, 1, false)
		}
	}
	m.memory.TouchAll()
}

// untilTrafficMoves runs passes until a change is halfway, for a while.
func (m *model) untilTrafficMoves() {
	for range 60 {
		before, err := m.store.GetActiveRelease(context.Background(), m.service)
		m.pass()
		m.sync()
		if after, _ := m.store.GetActiveRelease(context.Background(), m.service); err == nil && !slices.Equal(before.Targets, after.Targets) {
			return
		}
		m.clock.Advance(100 * time.Millisecond)
	}
}

// halfwayOperations are what may happen to a service while it is being changed.
// Events tell of every end: what nobody is told of is for the other models.
func (m *model) halfwayOperations() map[string]func(*rapid.T) {
	all := m.operations()
	ops := map[string]func(*rapid.T){
		"apply":          func(*rapid.T) { m.apply(m.drawReplicas()) },
		"halfway":        func(*rapid.T) { m.apply(m.drawReplicas()); m.untilTrafficMoves() },
		"again":          func(*rapid.T) { m.putDesired(func(*store.DesiredService) {}) },
		"rollback":       func(*rapid.T) { m.rollback() },
		"engine restart": func(*rapid.T) { m.engine.RestartEngine(false); m.memory.TouchAll() },
		"crash":          func(rt *rapid.T) { all["crash"](rt); m.memory.TouchAll() },
		"sidecars end": func(rt *rapid.T) {
			m.ends(func(name string) bool { return strings.HasSuffix(name, ".log") })
			if rapid.Bool().Draw(rt, "and it comes again") {
				m.putDesired(func(*store.DesiredService) {})
				m.passFor(300 * time.Millisecond)
			}
		},
		"first replicas end": func(*rapid.T) {
			m.ends(func(name string) bool { return !strings.Contains(name, ".") && !strings.Contains(name, "-r") })
		},
		"scale": func(rt *rapid.T) {
			n := rapid.IntRange(1, 3).Draw(rt, "replicas")
			m.change("scale", func(d *store.DesiredService) { d.Replicas, d.Spec.Replicas = n, n })
		},
		"strategy": func(rt *rapid.T) {
			to := rapid.SampledFrom([]spec.Strategy{spec.BlueGreen, spec.Rolling}).Draw(rt, "to")
			m.putDesired(func(d *store.DesiredService) {
				if !d.Spec.Stateful {
					d.Spec.Strategy = to
				}
			})
		},
		"many passes": func(rt *rapid.T) {
			m.passFor(time.Duration(rapid.IntRange(1, 40).Draw(rt, "tenths")) * 100 * time.Millisecond)
		},
	}
	for _, name := range []string{"pass", "some passes", "time", ""} {
		ops[name] = all[name]
	}
	return ops
}

// TestAChangeHalfwayCostsNoLastReplica is the model of changes that are overtaken,
// turn round or come again while parts of what serves end and run again.
func TestAChangeHalfwayCostsNoLastReplica(t *testing.T) {
	withoutRace(t)
	defer fewerChecks(t, 10)()
	rapid.Check(t, func(rt *rapid.T) {
		st, closeStore := freshStore(t)
		defer closeStore()
		m := newModel(rt, t, st)
		defer m.engine.Close()
		m.image("late:1", lateFirst())
		m.rig.t = failer{t, rt}
		m.apply(m.drawReplicas())
		m.passFor(4 * time.Second)
		rt.Repeat(m.halfwayOperations())
		m.quiesce()
	})
}
