package hub_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
)

const other = "vmx06awcb4f5hzmfey7qwt7s8a6q4"

func TestADialSaysWhyItCameToNothing(t *testing.T) {
	r := newRig(t, func(o *hub.Options) { o.Timing.Dial = 200 * time.Millisecond; o.Limits.Conns = 2 })
	r.connected(machine, func(c *agent.Config) { c.EngineSocket = "/none" })
	closed := target(t, nil)
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	nobody := l.Addr().String()
	l.Close()
	mute := r.ca.Agent(t, other)
	r.hello(mute, wire.Hello{InstanceID: other})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_ = closed
	for name, tc := range map[string]struct {
		ctx      context.Context
		instance string
		kind     wire.Kind
		address  string
		want     error
	}{
		"offline":               {t.Context(), "nobody", wire.KindEngine, "", hub.ErrOffline},
		"no answer":             {t.Context(), other, wire.KindEngine, "", hub.ErrNoAnswer},
		"given up":              {gone, other, wire.KindEngine, "", context.Canceled},
		"no engine":             {t.Context(), machine, wire.KindEngine, "", hub.ErrUnreachable},
		"nobody listens":        {t.Context(), machine, wire.KindAddress, nobody, hub.ErrUnreachable},
		"no host is served":     {t.Context(), machine, wire.KindHost, "", hub.ErrRefused},
		"a name":                {t.Context(), machine, wire.KindAddress, "localhost:80", hub.ErrTarget},
		"port 0":                {t.Context(), machine, wire.KindAddress, "127.0.0.1:0", hub.ErrTarget},
		"an engine's address":   {t.Context(), machine, wire.KindEngine, "127.0.0.1:80", hub.ErrTarget},
		"a kind of its own":     {t.Context(), machine, "shell", "", hub.ErrTarget},
		"nothing of an agent's": {t.Context(), machine, "", "", hub.ErrTarget},
	} {
		began := time.Now()
		c, err := r.Dial(tc.ctx, tc.instance, tc.kind, tc.address)
		var op *net.OpError
		if !errors.Is(err, tc.want) || !errors.As(err, &op) || c != nil {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

func TestConnectionsThroughAMachineHaveABoundAndGiveTheirPlaceBack(t *testing.T) {
	r := newRig(t, func(o *hub.Options) { o.Limits.Conns = 2 })
	r.connected(machine, nil)
	at := target(t, func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) })
	a, b := r.reach(machine, at), r.reach(machine, at)
	if _, err := r.Dial(ctxOf(t), machine, wire.KindAddress, at); !errors.Is(err, hub.ErrBusy) {
		t.Errorf("the third: %v", err)
	}
	_ = a.Close()
	_ = a.Close()
	r.reach(machine, at)
	_ = b
}

func TestAnAgentCarriesAsManyConnectionsAsItMay(t *testing.T) {
	r := newRig(t, nil)
	r.connected(machine, func(c *agent.Config) { c.Limits.Dials = 1 })
	at := target(t, func(c *net.TCPConn) { _, _ = io.Copy(io.Discard, c) })
	r.reach(machine, at)
	if _, err := r.Dial(ctxOf(t), machine, wire.KindAddress, at); !errors.Is(err, hub.ErrBusy) {
		t.Errorf("the second: %v", err)
	}
}

func TestADialIsAnsweredByTheMachineThatWasAskedAlone(t *testing.T) {
	r := newRig(t, func(o *hub.Options) { o.Timing.Dial = 500 * time.Millisecond })
	asked := r.hello(r.ca.Agent(t, machine), wire.Hello{InstanceID: machine})
	thief := r.ca.Agent(t, other)
	r.hello(thief, wire.Hello{InstanceID: other})
	got := make(chan error, 1)
	go func() {
		_, err := r.Dial(ctxOf(t), machine, wire.KindEngine, "")
		got <- err
	}()
	m := asked.hear()
	if m.Dial == nil {
		t.Fatalf("%+v", m)
	}
	c := r.puppet(thief, wire.ProtocolDial)
	c.say(wire.Opened{ID: m.Dial.ID})
	c.over()
	// Nor is its word taken that it cannot be done.
	e := r.puppet(thief, wire.ProtocolDial)
	e.say(wire.Opened{ID: m.Dial.ID, Error: "no"})
	e.over()
	if err := <-got; !errors.Is(err, hub.ErrNoAnswer) {
		t.Errorf("%v", err)
	}
	// The right machine, too late.
	late := r.puppet(r.ca.Agent(t, machine), wire.ProtocolDial)
	late.say(wire.Opened{ID: m.Dial.ID})
	late.over()
}

func TestADialToAMachineThatIsLostEndsAtOnce(t *testing.T) {
	r := newRig(t, func(o *hub.Options) { o.Timing.Dial = time.Hour })
	p := r.hello(r.ca.Agent(t, machine), wire.Hello{InstanceID: machine})
	got := make(chan error, 1)
	go func() {
		_, err := r.Dial(t.Context(), machine, wire.KindEngine, "")
		got <- err
	}()
	p.hear()
	_ = p.Close()
	if err := <-got; !errors.Is(err, hub.ErrOffline) {
		t.Errorf("%v", err)
	}
}

func TestARefusalInTheFirstFrameIsOne(t *testing.T) {
	r := newRig(t, nil)
	cert := r.ca.Agent(t, machine)
	p := r.hello(cert, wire.Hello{InstanceID: machine})
	got := make(chan error, 1)
	go func() {
		_, err := r.Dial(ctxOf(t), machine, wire.KindEngine, "")
		got <- err
	}()
	id := p.hear().Dial.ID
	r.puppet(cert, wire.ProtocolDial).say(wire.Opened{ID: id, Error: "not today"})
	if err := <-got; !errors.Is(err, hub.ErrRefused) {
		t.Errorf("%v", err)
	}
}
