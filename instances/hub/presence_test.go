package hub_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
)

func TestWhatAnAgentSaysOfItsMachineIsKnown(t *testing.T) {
	r := newRig(t, nil)
	r.agent(machine, func(c *agent.Config) {
		c.Facts = func() wire.Facts { return wire.Facts{Hostname: "shed", CPUs: 3} }
		c.Metrics = func() wire.Metrics { return wire.Metrics{Load1: 1.5} }
	})
	if e := r.event(hub.EventConnected); e.Node.Tenant != "acme" || e.Node.Facts.Hostname != "shed" || e.Node.BootID != "boot-1" || e.Node.Version != "test" {
		t.Errorf("%+v", e.Node)
	}
	e := r.event(hub.EventHeartbeat)
	if e.Node.InstanceID != machine || e.Node.Metrics.Load1 != 1.5 || e.Node.Heartbeat.Before(e.Node.Connected) {
		t.Errorf("%+v", e.Node)
	}
	if n, ok := r.Node(machine); !ok || n.Facts.CPUs != 3 || !r.Online(machine) || len(r.Nodes()) != 1 {
		t.Errorf("%+v", n)
	}
}

func TestAnAgentIsHeardOfAsOftenAsItsHubSays(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *hub.Options) { o.Timing.Heartbeat = wire.HeartbeatLeast })
	r.connected(machine, func(c *agent.Config) { c.Timing.Heartbeat = 0 })
	for range wire.HeartbeatMisses + 2 { // the first comes at once
		if e := r.either(hub.EventHeartbeat, hub.EventLost); e.Kind == hub.EventLost {
			t.Fatalf("the agent has a rhythm of its own: %s", e.Reason)
		}
	}
}

func TestACopiedIdentityIsRefusedAndTheFirstMachineStays(t *testing.T) {
	var log lines
	r := newRig(t, func(o *hub.Options) { o.Log = logTo(&log) })
	cert := r.ca.Agent(t, machine)
	folder := func() string {
		return wiretest.Folder(t, r.ca, wiretest.Machine{Instance: machine, Agent: r.addr, Cert: &cert})
	}
	r.connected(machine, func(c *agent.Config) { c.Dir = folder() })
	at := target(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	conn := r.reach(machine, at)
	var copied lines
	r.agent(machine, func(c *agent.Config) { c.Dir, c.BootID, c.Log = folder(), "boot-2", logTo(&copied) })
	for range 3 { // it asks again
		if e := r.event(hub.EventCloned); e.Node.BootID != "boot-1" || !strings.Contains(e.Reason, "boot-2") {
			t.Errorf("%+v", e)
		}
	}
	if n, _ := r.Node(machine); n.BootID != "boot-1" {
		t.Errorf("the copy has taken its place: %+v", n)
	}
	_, _ = conn.Write([]byte("x"))
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Errorf("what went through the first: %v", err)
	}
	for _, id := range []string{"first_boot_id=boot-1", "second_boot_id=boot-2"} {
		if !strings.Contains(log.String(), id) {
			t.Errorf("the log does not say %s", id)
		}
	}
	if n := strings.Count(copied.String(), "level=ERROR"); n != 1 || !strings.Contains(copied.String(), wire.CodeIdentityCloned) {
		t.Errorf("the copy logs it %d times: %s", n, copied.String())
	}
}

func TestAMachineThatComesBackTakesThePlaceOfItsDeadConnection(t *testing.T) {
	r := newRig(t, func(o *hub.Options) { o.Timing = hub.Timing{Heartbeat: time.Hour, Probe: 100 * time.Millisecond} })
	cert := r.ca.Agent(t, machine)
	dead := r.hello(cert, wire.Hello{InstanceID: machine, BootID: "1"}) // and nothing more
	r.hello(cert, wire.Hello{InstanceID: machine, BootID: "2"})
	if e := r.event(hub.EventLost); e.Node.BootID != "1" {
		t.Errorf("lost: %+v", e)
	}
	if e := r.event(hub.EventConnected); e.Node.BootID != "2" {
		t.Errorf("connected: %+v", e)
	}
	dead.over()
	if n, _ := r.Node(machine); n.BootID != "2" {
		t.Errorf("%+v", n)
	}
}

func TestAProcessTakesOverFromItselfAndNoDialIsLost(t *testing.T) {
	r := newRig(t, func(o *hub.Options) { o.Timing = hub.Timing{Heartbeat: time.Hour, Probe: time.Hour} })
	cert := r.ca.Agent(t, machine)
	first := r.puppet(cert, wire.ProtocolControl)
	first.say(wire.Message{Hello: &wire.Hello{InstanceID: machine}})
	token := first.hear().Welcome.Resume
	first.say(wire.Message{Notice: &wire.Notice{Kind: wire.NoticeTermination}})
	r.event(hub.EventNotice)
	got := make(chan error, 1)
	go func() {
		c, err := r.Dial(ctxOf(t), machine, wire.KindEngine, "")
		if err == nil {
			c.Close()
		}
		got <- err
	}()
	dial := first.hear().Dial
	second := r.puppet(cert, wire.ProtocolControl)
	second.say(wire.Message{Hello: &wire.Hello{InstanceID: machine, Resume: token}})
	again := second.hear().Welcome.Resume
	if again == token {
		t.Error("a token holds twice")
	}
	if first.hear().Bye == nil {
		t.Error("the first is not told")
	}
	r.puppet(cert, wire.ProtocolDial).say(wire.Opened{ID: dial.ID})
	if err := <-got; err != nil {
		t.Errorf("a dial that was under way: %v", err)
	}
	if n, _ := r.Node(machine); n.Notice == nil {
		t.Error("the notice is forgotten")
	}
	_ = first.Close()
	if !r.Online(machine) {
		t.Error("the second went with the first")
	}
	// A copy that was made with the token in memory.
	third := r.puppet(cert, wire.ProtocolControl)
	third.say(wire.Message{Hello: &wire.Hello{InstanceID: machine, Resume: token}})
	if m := second.hear(); m.Ping == nil {
		t.Errorf("%+v", m)
	}
	second.say(wire.Message{Heartbeat: &wire.Heartbeat{Seq: 1}})
	if m := third.hear(); m.Refused == nil || m.Refused.Code != wire.CodeIdentityCloned {
		t.Errorf("%+v", m)
	}
}

func TestOneCopyIsLookedAtAtATime(t *testing.T) {
	r := newRig(t, func(o *hub.Options) { o.Timing = hub.Timing{Heartbeat: time.Hour, Probe: 20 * time.Second} })
	cert := r.ca.Agent(t, machine)
	first := r.hello(cert, wire.Hello{InstanceID: machine})
	second := r.puppet(cert, wire.ProtocolControl)
	second.say(wire.Message{Hello: &wire.Hello{InstanceID: machine}})
	if first.hear().Ping == nil {
		t.Fatal("not asked")
	}
	third := r.puppet(cert, wire.ProtocolControl)
	third.say(wire.Message{Hello: &wire.Hello{InstanceID: machine}})
	if m := third.hear(); m.Refused == nil || m.Refused.Code != wire.CodeBusy {
		t.Errorf("%+v", m)
	}
	_ = first.Close()
	if m := second.hear(); m.Welcome == nil {
		t.Errorf("%+v", m)
	}
}

func TestADeniedCertificateEndsWhatStandsByItAndOpensNothing(t *testing.T) {
	var log lines
	r := newRig(t, nil)
	r.connected(machine, func(c *agent.Config) { c.Log = logTo(&log) })
	at := target(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	conn := r.reach(machine, at)
	stays := r.hello(r.ca.Agent(t, other), wire.Hello{InstanceID: other})
	n, _ := r.Node(machine)
	r.Recheck()
	if !r.Online(machine) {
		t.Fatal("it is not denied yet")
	}
	r.deny.add(n.Serial)
	r.Recheck()
	if e := r.event(hub.EventLost); e.Node.InstanceID != machine {
		t.Errorf("%+v", e)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("what went through it: %v", err)
	}
	// It asks again, and is told again.
	ctx := ctxOf(t)
	for !strings.Contains(log.String(), wire.CodeInstanceDeleted) {
		if ctx.Err() != nil {
			t.Fatalf("the machine is not told: %s", log.String())
		}
		<-time.After(10 * time.Millisecond)
	}
	if r.Online(machine) || !r.Online(other) {
		t.Error("the wrong one is connected")
	}
	_ = stays
}

func TestWhoDoesNotReadEventsIsToldThatSomeAreMissing(t *testing.T) {
	r := newRig(t, nil)
	slow := r.Subscribe(1)
	defer slow.Close()
	for _, instance := range []string{machine, other, "a", "b"} {
		r.hello(r.ca.Agent(t, instance), wire.Hello{InstanceID: instance})
		r.event(hub.EventConnected)
	}
	first, second := <-slow.Events(), <-slow.Events()
	if first.Kind != hub.EventConnected || second.Kind != hub.EventMissed {
		t.Errorf("%s, %s", first.Kind, second.Kind)
	}
	if len(r.Nodes()) != 4 {
		t.Errorf("%d machines", len(r.Nodes()))
	}
}

func TestThereIsABoundOfMachines(t *testing.T) {
	r := newRig(t, func(o *hub.Options) { o.Limits.Machines = 1 })
	r.hello(r.ca.Agent(t, machine), wire.Hello{InstanceID: machine})
	p := r.puppet(r.ca.Agent(t, other), wire.ProtocolControl)
	p.say(wire.Message{Hello: &wire.Hello{InstanceID: other}})
	if m := p.hear(); m.Refused == nil || m.Refused.Code != wire.CodeBusy {
		t.Errorf("%+v", m)
	}
}

func TestAnAgentComesBackToAControlPlaneThatWasAway(t *testing.T) {
	ca := wiretest.NewCA(t)
	opts := hub.Options{Certificate: wiretest.Held(ca.Server(t, wire.RoleServer)), Roots: ca.Roots(), Timing: quick()}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cert := ca.Agent(t, machine)
	wiretest.RunAgent(t, agent.Config{
		Dir: wiretest.Folder(t, ca, wiretest.Machine{Instance: machine, Agent: l.Addr().String(), Cert: &cert}), BootID: "1",
		Timing: agent.Timing{Heartbeat: 50 * time.Millisecond, RetryMin: 5 * time.Millisecond, RetryMax: 20 * time.Millisecond},
	})
	for range 3 {
		h, err := hub.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		sub := h.Subscribe(10)
		ctx, cancel := context.WithCancel(ctxOf(t))
		var wg sync.WaitGroup
		wg.Go(func() { _ = h.Serve(ctx, l) })
		if e := <-sub.Events(); e.Kind != hub.EventConnected {
			t.Errorf("%+v", e)
		}
		cancel()
		wg.Wait()
		if l, err = net.Listen("tcp", l.Addr().String()); err != nil {
			t.Fatal(err)
		}
	}
	l.Close()
}
