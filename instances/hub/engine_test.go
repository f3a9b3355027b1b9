package hub_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest/realsuite"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
	"github.com/berth-cloud/berth/internal/docker/engine"
)

// brief leaves out of a run of all tests what takes long on a real engine and is the
// same by every way to it; `make conformance` runs every case.
const brief = "BERTH_TEST_BRIEF"

const machine = "vmx06bgm7733st2576nx5jht4ecjw"

// client is one of an engine behind an agent.
func (r *rig) client(t testing.TB) *engine.Client {
	t.Helper()
	c, err := engine.New(engine.Options{Host: machine, Dial: func(ctx context.Context) (net.Conn, error) {
		return r.Dial(ctx, machine, wire.KindEngine, "")
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// onEngine is a hub with an agent beside the real engine, with the timings of every day.
func onEngine(t *testing.T) (r *rig, socket string) {
	socket = testimage.Socket(t)
	r = newRig(t, func(o *hub.Options) { o.Timing = hub.Timing{} })
	r.connected(machine, func(c *agent.Config) { c.EngineSocket, c.Timing = socket, agent.Timing{} })
	return r, socket
}

func TestTheEngineOfAMachineConformsAsALocalOneDoes(t *testing.T) {
	t.Parallel()
	r, _ := onEngine(t)
	open := func(t testing.TB, _ string) docker.Runtime { return r.client(t) }
	if os.Getenv(brief) == "" {
		realsuite.Run(t, open)
		return
	}
	realsuite.RunWays(t, open)
	t.Logf("%s is set: make conformance runs all", brief)
}

// probe runs a container of the probe program until the test ends.
func (r *rig) probe(t *testing.T, c *engine.Client, socket, name string, labels map[string]string, steps ...string) string {
	t.Helper()
	name = "berth-hubtest-" + name + "-" + strings.ToLower(time.Now().Format("150405.000000"))
	id, err := c.Create(ctxOf(t), docker.ContainerSpec{
		Name: name, Image: testimage.Build(t, socket, "probe"), Command: steps, Labels: labels,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(c.Stop(ctx, id, 0), c.Remove(ctx, id)); err != nil {
			t.Errorf("clean-up: %v", err)
		}
	})
	if err := c.Start(ctxOf(t), id); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestACommandOnAMachineGoesOnLongAfterItsInputEnded(t *testing.T) {
	t.Parallel()
	r, socket := onEngine(t)
	c := r.client(t)
	id := r.probe(t, c, socket, "input", nil, "wait")
	var out bytes.Buffer
	code, err := c.Exec(ctxOf(t), id, docker.ExecSpec{
		Command: []string{"/probe", "cat", "sleep:3s", "out:afterwards", "exit:7"},
		Stdin:   strings.NewReader("before\n"), Stdout: &out,
	})
	if code != 7 || err != nil || out.String() != "before\nafterwards\n" {
		t.Errorf("code %d, %v, output %q", code, err, out.String())
	}
}

// The flood fills every buffer on its way, since nobody reads it.
func TestAFloodOfLogsHoldsUpNoHeartbeatAndNoOtherDial(t *testing.T) {
	socket := testimage.Socket(t)
	r := newRig(t, func(o *hub.Options) { o.Timing.Heartbeat = time.Second })
	r.connected(machine, func(c *agent.Config) { c.EngineSocket, c.Timing.Heartbeat = socket, 200*time.Millisecond })
	c := r.client(t)
	const size = 30 << 20
	id := r.probe(t, c, socket, "flood", nil, fmt.Sprint("long:", size), "wait")
	ctx, cancel := context.WithCancel(ctxOf(t))
	began, over := make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		over <- c.Logs(ctx, id, docker.LogOptions{Follow: true}, func(docker.LogLine) error {
			if first {
				first = false
				close(began)
			}
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	select {
	case <-began:
	case err := <-over:
		t.Fatal(err)
	}
	since := time.Now()
	for beats := 0; beats < 5; {
		switch e := r.either(hub.EventHeartbeat, hub.EventLost); {
		case e.Kind == hub.EventLost:
			t.Fatalf("the machine was lost: %s", e.Reason)
		case e.At.After(since):
			beats++
		}
	}
	if took := time.Since(since); took > 5*time.Second {
		t.Errorf("five heartbeats took %v", took)
	}
	for range 5 {
		if _, err := c.Info(ctxOf(t)); err != nil {
			t.Error(err)
		}
	}
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestAnEngineOfAMachineThatIsOfflineIsUnavailable(t *testing.T) {
	r := newRig(t, nil)
	_, err := r.client(t).Info(ctxOf(t))
	if !errors.Is(err, docker.ErrUnavailable) || !errors.Is(err, hub.ErrOffline) {
		t.Errorf("%v", err)
	}
}

// The data plane's control, against containers of a real engine.
func TestTheDataPlaneReachesAppsOnAMachineAndNothingElse(t *testing.T) {
	socket := testimage.Socket(t)
	r := newRig(t, nil)
	in := newRigOf(t, r.ca, wire.RoleIngress, nil)
	in.connectedTo(r, machine, func(c *agent.Config) { c.EngineSocket = socket })
	local, err := engine.New(engine.Options{Host: socket})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { local.Close() })
	app := r.probe(t, local, socket, "app", map[string]string{docker.LabelInstance: "hubtest"}, "listen:8080", "wait")
	other := r.probe(t, local, socket, "other", map[string]string{"is": "not berth's"}, "listen:8080", "wait")
	address := func(id string) string {
		state, err := local.Inspect(ctxOf(t), id)
		if err != nil {
			t.Fatal(err)
		}
		return net.JoinHostPort(state.Address.String(), "8080")
	}
	if conn, err := in.dialUntilReached(machine, address(app)); err != nil {
		t.Errorf("an app: %v", err)
	} else {
		conn.Close()
	}
	if _, err := in.Dial(ctxOf(t), machine, wire.KindAddress, address(other)); !errors.Is(err, hub.ErrRefused) {
		t.Errorf("a container that is not Berth's: %v", err)
	}
	if err := local.Stop(ctxOf(t), app, 0); err != nil {
		t.Fatal(err)
	}
}
