package dockertest_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

// TestAnyHistoryLeavesAConsistentEngine drives an engine by random calls,
// faults and time, and compares every answer that can be had in two ways.
func TestAnyHistoryLeavesAConsistentEngine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		ops := drawOps(rt)
		play(w, ops)
		checkLists(rt, w)
		checkAddresses(rt, w)
		checkHistory(rt, w)

		again := newWorld(t)
		play(again, ops)
		if !reflect.DeepEqual(w.Containers(), again.Containers()) {
			rt.Fatal("the same calls at the same times gave another world")
		}
	})
}

type op struct {
	kind, name, value int
}

func drawOps(rt *rapid.T) []op {
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) op {
		return op{rapid.IntRange(0, 12).Draw(rt, "kind"), rapid.IntRange(0, 5).Draw(rt, "name"), rapid.IntRange(0, 4).Draw(rt, "value")}
	}), 1, 60).Draw(rt, "ops")
}

// play performs operations; calls may fail, which is part of the model.
func play(w *world, ops []op) {
	behaviours := []dockertest.Behaviour{
		{Port: 80, Exec: func(dockertest.ExecRun) dockertest.ExecOutcome { return dockertest.ExecOutcome{Takes: time.Second} }}, {Exit: &dockertest.Exit{After: time.Second, Code: 1}}, {IgnoreTerm: true},
		{StopTime: 3 * time.Second}, {StartError: "no such file"},
	}
	for i, b := range behaviours {
		w.AddImage(fmt.Sprintf("i%d", i), docker.Image{}, b)
	}
	always, never := docker.RestartUnlessStopped, docker.RestartNo
	for _, o := range ops {
		name := fmt.Sprintf("c%d", o.name)
		switch o.kind {
		case 0, 1:
			spec := docker.ContainerSpec{Name: name, Image: fmt.Sprintf("i%d", o.value), Restart: docker.RestartUnlessStopped,
				Labels:  map[string]string{"kind": fmt.Sprint(o.value), "name": name},
				Network: docker.NetworkAttachment{Network: testNetwork, Address: netip.AddrFrom4([4]byte{10, 1, 0, byte(10 + o.value)})},
				Ports:   []docker.PortBinding{{HostIP: "127.0.0.1", HostPort: 8000 + o.name, ContainerPort: 80}}}
			_, _ = w.Create(w.ctx, spec)
		case 2, 3:
			_ = w.Start(w.ctx, name)
		case 4:
			_ = w.Stop(w.ctx, name, time.Duration(o.value)*time.Second)
		case 5:
			_ = w.Remove(w.ctx, name)
		case 6:
			w.clock.Advance(time.Duration(o.value*o.value) * 300 * time.Millisecond)
		case 7:
			policy := []*docker.RestartPolicy{&always, &never}[o.value%2]
			_ = w.Update(w.ctx, name, docker.ContainerUpdate{Restart: policy})
		case 8:
			kinds := []dockertest.FaultKind{dockertest.FailBefore, dockertest.FailAfter, dockertest.Hang, dockertest.LieOnce}
			w.Script(dockertest.Fault{Kind: kinds[o.value%4], Mutating: true, Nth: o.name})
		case 9:
			w.RestartEngine(o.value > 1)
		case 10:
			_ = w.Signal(w.ctx, name, []string{"KILL", "TERM", "HUP"}[o.value%3])
		case 11:
			_, _ = w.Exec(w.ctx, name, docker.ExecSpec{Command: []string{"check"}})
		case 12:
			_ = w.CopyInto(w.ctx, name, "/etc", []docker.File{{Path: "f"}})
		}
	}
	w.ClearScript()
}

func checkLists(rt *rapid.T, w *world) {
	for _, labels := range []map[string]string{nil, {"kind": ""}, {"kind": "1"}, {"kind": "1", "name": "c2"}, {"none": ""}} {
		var want []string
		for _, c := range w.Containers() {
			ok := true
			for k, v := range labels {
				got, has := c.Labels[k]
				ok = ok && has && (v == "" || v == got)
			}
			if ok {
				want = append(want, c.ID)
			}
		}
		list, err := w.List(w.ctx, labels)
		w.must(err)
		var got []string
		for _, c := range slices.Backward(list) {
			got = append(got, c.ID)
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("by %v listed %v, want %v", labels, got, want)
		}
	}
}

// checkAddresses holds the running containers against what is attached and
// against who answers on a published port.
func checkAddresses(rt *rapid.T, w *world) {
	nets, err := w.ListNetworks(w.ctx, nil)
	w.must(err)
	attached := map[string]netip.Addr{}
	for _, m := range nets[len(nets)-1].Attached {
		attached[m.Name] = m.Address
	}
	running := 0
	for _, c := range w.Containers() {
		published := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(c.Ports[0].HostPort))
		if (w.TCP(w.ctx, published) == nil) != c.Running() {
			rt.Fatalf("%s is %s and its published port says %v", c.Name, c.Status, w.TCP(w.ctx, published))
		}
		if !c.Running() {
			continue
		}
		running++
		if attached[c.Name] != c.Address {
			rt.Fatalf("%s runs at %v, attached at %v", c.Name, c.Address, attached[c.Name])
		}
	}
	if running != len(attached) {
		rt.Fatalf("%d run, %d are attached", running, len(attached))
	}
}

// checkHistory replays the history and compares the last status of each.
func checkHistory(rt *rapid.T, w *world) {
	alive := map[string]bool{}
	for _, m := range w.History() {
		switch m.Did {
		case dockertest.DidStart:
			if alive[m.ID] {
				rt.Fatalf("%s started twice", m.Name)
			}
			alive[m.ID] = true
		case dockertest.DidDie:
			if !alive[m.ID] {
				rt.Fatalf("%s died without having run", m.Name)
			}
			alive[m.ID] = false
		case dockertest.DidRemove:
			if alive[m.ID] {
				rt.Fatalf("%s was removed while it ran", m.Name)
			}
		}
	}
	for _, c := range w.Containers() {
		if alive[c.ID] != c.Running() {
			rt.Fatalf("%s is %s, its history says running %v", c.Name, c.Status, alive[c.ID])
		}
	}
}
