package application

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// lastingFaults are images whose containers do not come round by themselves.
var lastingFaults = map[string]dockertest.Behaviour{
	"once:1": {PerRun: func(run dockertest.Run) dockertest.Behaviour {
		if run.Number == 0 {
			return images["good:1"]
		}
		return dockertest.Status(8080, 500)
	}},
	"weakens:1": {Port: 8080, Paths: map[string][]dockertest.StatusAt{"*": {{Status: 200}, {After: 15 * time.Second, Status: 500}}}},
	"dies:1":    {Port: 8080, StartDelay: 20 * time.Millisecond, Exit: &dockertest.Exit{After: 9 * time.Second, Code: 1}},
}

// drawShape draws how a service stands.
func (m *model) drawShape() []func(*spec.Service) {
	var out []func(*spec.Service)
	switch rapid.SampledFrom([]string{"plain", "replicas", "rolling", "rolling without surge", "stateful", "volume"}).Draw(m.rt, "stands") {
	case "replicas":
		out = append(out, withReplicas(rapid.IntRange(1, 3).Draw(m.rt, "replicas")))
	case "rolling":
		out = append(out, asRolling("", ""), withReplicas(rapid.IntRange(1, 4).Draw(m.rt, "replicas")))
	case "rolling without surge":
		out = append(out, asRolling("0", "1"), withReplicas(rapid.IntRange(1, 4).Draw(m.rt, "replicas")))
	case "stateful":
		out = append(out, asStateful, withReplicas(rapid.IntRange(1, 4).Draw(m.rt, "replicas")))
	case "volume":
		out = append(out, withVolume)
	}
	if rapid.Bool().Draw(m.rt, "kept") {
		out = append(out, func(s *spec.Service) { s.KeepPrevious = 20 * time.Second })
	}
	return out
}

// drawLasting draws a service that may never be well.
func (m *model) drawLasting() spec.Service {
	image := rapid.SampledFrom([]string{"good:1", "good:2", "slow:1", "never:1", "exits:1", "once:1", "weakens:1", "dies:1"}).Draw(m.rt, "image")
	shape := m.drawShape()
	if rapid.Bool().Draw(m.rt, "group") {
		side := rapid.SampledFrom([]string{"side:1", "side:ends", "side:once", "dies:1"}).Draw(m.rt, "sidecar")
		shape = append(shape, asGroup(side))
		init := rapid.SampledFrom([]string{"init:1", "init:1", "init:bad", "init:hangs"}).Draw(m.rt, "init")
		shape = append(shape, func(s *spec.Service) { s.Inits[0].Image = init })
	}
	if rapid.Bool().Draw(m.rt, "secrets") {
		shape = append(shape, withSecrets)
	}
	if rapid.Bool().Draw(m.rt, "liveness") {
		shape = append(shape, func(s *spec.Service) {
			s.Liveness = &spec.Probe{Path: "/", Interval: 2 * time.Second, Timeout: time.Second, Failures: 2}
		})
	}
	s := m.spec(image, shape...)
	s.Domains = []string{m.service + ".example"}
	return s
}

// again makes the desired service come to another attempt.
func (m *model) again(action string, change func(*store.DesiredService)) func(*rapid.T) {
	return func(*rapid.T) { m.change(action, change) }
}

// fewerChecks lets a model whose histories take longer run that part of the usual
// number of them, unless a flag says otherwise. The answer undoes it.
func fewerChecks(t *testing.T, part int) (undo func()) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	if f.Value.String() != modelChecks {
		return func() {}
	}
	n, err := strconv.Atoi(modelChecks)
	if err == nil {
		err = f.Value.Set(strconv.Itoa(max(n/part, 6)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = f.Value.Set(modelChecks) }
}

func TestAGoodChangeComesThroughWhateverWasBefore(t *testing.T) {
	defer fewerChecks(t, 6)()
	rapid.Check(t, func(rt *rapid.T) {
		st, closeStore := freshStore(t)
		defer closeStore()
		m := newModel(rt, t, st)
		defer m.engine.Close()
		for name, b := range lastingFaults {
			m.image(name, b)
		}
		m.rig.t, m.lasting = failer{t, rt}, true
		m.apply(m.drawLasting())
		ops := m.operations()
		ops["apply"] = func(*rapid.T) { m.apply(m.drawLasting()) }
		ops["another apply"] = ops["apply"]
		ops["many passes"] = func(*rapid.T) { m.passFor(20 * time.Second) }
		ops["restart all"] = m.again("restart", func(d *store.DesiredService) { d.RestartNonce += "1" })
		ops["suspend"] = m.again("update", func(d *store.DesiredService) { d.Suspended = !d.Suspended })
		ops["rollback"] = func(*rapid.T) { m.rollback() }
		ops["secret"] = func(*rapid.T) {
			if len(m.vault["shop/TOKEN"]) > 0 && rapid.Bool().Draw(m.rt, "gone") {
				delete(m.vault, "shop/TOKEN")
				return
			}
			m.vault["shop/TOKEN"] = append(m.vault["shop/TOKEN"], "hunter2")
		}
		for _, name := range []string{"crash", "engine restart"} { // events tell of them
			alone := ops[name]
			ops[name] = func(rt *rapid.T) { alone(rt); m.memory.TouchAll() }
		}
		rt.Repeat(ops)
		m.mend()
		m.remove()
	})
}

// rollback makes one of the first releases the desired one.
func (m *model) rollback() {
	id := fmt.Sprintf("%s-v%d", m.service, rapid.IntRange(1, 6).Draw(m.rt, "version"))
	to, err := m.store.GetRelease(context.Background(), id)
	if errors.Is(err, store.ErrNotFound) {
		return
	}
	if err != nil {
		m.rt.Fatal(err)
	}
	m.change("update", func(d *store.DesiredService) {
		d.ReleaseID, d.Image, d.Spec = to.ID, to.Image, to.Spec.WithSecretVersions(func(spec.SecretRef) int64 { return 0 })
		d.Replicas = d.Spec.Replicas
	})
}

// mend ends all faults, applies what is well, and expects it to serve.
func (m *model) mend() {
	m.engine.ClearScript()
	m.unpause()
	m.plane.down = false
	m.sync()
	m.vault["shop/TOKEN"] = append(m.vault["shop/TOKEN"], "hunter2")
	shape := m.drawShape()
	if rapid.Bool().Draw(m.rt, "group") {
		shape = append(shape, asGroup("side:1"))
	}
	if rapid.Bool().Draw(m.rt, "secrets") {
		shape = append(shape, withSecrets)
	}
	s := m.spec("good:2", shape...)
	s.Domains = []string{m.service + ".example"}
	m.apply(s)
	m.memory.TouchAll()
	m.settle(60, 20*time.Minute)
	m.invariants()
	if a, c := m.attempt(), m.ready(); a.State != store.AttemptSucceeded || c.Status != reconcile.True || c.Reason != string(ReasonDeployed) {
		m.rt.Fatalf("what is well does not come through: attempt %+v; %+v; err %v; %s\n%s", a, c, m.lastErr, m.describe(), m.history())
	}
	active, err := m.store.GetActiveRelease(context.Background(), m.service)
	if err != nil {
		m.rt.Fatal(err)
	}
	m.checkNothingLeft(active)
	files := 0
	if len(s.Files) > 0 {
		files = s.Replicas
	}
	if got := m.fileVolumes(); len(got) != files {
		m.rt.Fatalf("%d file volumes, want %d: %+v", len(got), files, got)
	}
}

// remove deletes the service and expects nothing of it to be left.
func (m *model) remove() {
	_, err := m.store.ApplyChange(context.Background(), store.Change{
		AppID: m.app, Kind: store.AttemptDelete, Now: m.clock.Now(), Delete: []string{m.service}, DeleteApp: true,
	})
	if err != nil {
		m.rt.Fatal(err)
	}
	cut := rapid.IntRange(1, 40).Draw(m.rt, "cut")
	m.cutAfter.Store(int64(cut))
	done := false
	for range 300 {
		if done, _ = finalizePass(m.rig); done {
			break
		}
		m.sync()
		m.clock.Advance(200 * time.Millisecond)
	}
	m.cutAfter.Store(0)
	nets, err := m.engine.ListNetworks(context.Background(), map[string]string{docker.LabelInstance: rigInstance})
	if !done || err != nil || len(nets) > 0 || len(m.engine.Containers()) != 1 || len(m.fileVolumes()) != 0 {
		m.rt.Fatalf("left after the deletion (done %v, cut %d): networks %v, %v; volumes %v; %s", done, cut, nets, err, m.fileVolumes(), m.describe())
	}
}
