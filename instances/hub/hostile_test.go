package hub_test

import (
	"crypto/tls"
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
)

func TestOnlyAnAgentOfTheClusterIsTaken(t *testing.T) {
	r := newRig(t, nil)
	stranger := wiretest.NewCA(t)
	one := []string{"acme"}
	for name, cert := range map[string]tls.Certificate{
		"an operator":         r.ca.Issue(t, wiretest.Leaf{Role: wire.RoleOperator, Name: machine, Tenants: one}),
		"a server":            r.ca.Issue(t, wiretest.Leaf{Role: wire.RoleServer, Name: machine, Tenants: one}),
		"the data plane":      r.ca.Issue(t, wiretest.Leaf{Role: wire.RoleIngress, Name: machine, Tenants: one}),
		"nobody":              r.ca.Issue(t, wiretest.Leaf{Name: machine, Tenants: one}),
		"of no tenant":        r.ca.Issue(t, wiretest.Leaf{Role: wire.RoleAgent, Name: machine}),
		"of two tenants":      r.ca.Issue(t, wiretest.Leaf{Role: wire.RoleAgent, Name: machine, Tenants: []string{"acme", "else"}}),
		"without a name":      r.ca.Issue(t, wiretest.Leaf{Role: wire.RoleAgent, Tenants: one}),
		"expired":             r.ca.Issue(t, wiretest.Leaf{Role: wire.RoleAgent, Name: machine, Tenants: one, Age: time.Hour, Life: -time.Second}),
		"of another cluster":  stranger.Agent(t, machine),
		"with no certificate": {},
	} {
		for _, protocol := range []string{wire.ProtocolControl, wire.ProtocolDial} {
			c, err := r.dialAs(cert, protocol)
			if err != nil {
				continue
			}
			_ = wire.WriteFrame(c, wire.Message{Hello: &wire.Hello{InstanceID: machine}})
			if m, err := wire.ReadMessage(c); err == nil {
				t.Errorf("%s, %s: %+v", name, protocol, m)
			}
		}
	}
	if r.Online(machine) {
		t.Error("one of them is taken for the machine")
	}
	if c, err := r.dialAs(r.ca.Agent(t, machine), "http/1.1"); err == nil {
		c.over()
	}
}

// raw is a frame of these bytes.
func raw(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func TestAHostileAgentLosesItsConnectionAndNothingElse(t *testing.T) {
	r := newRig(t, func(o *hub.Options) {
		o.Timing = hub.Timing{Heartbeat: 300 * time.Millisecond, Handshake: 500 * time.Millisecond, Probe: 100 * time.Millisecond}
	})
	good := r.hello(r.ca.Agent(t, other), wire.Hello{InstanceID: other})
	alive := make(chan struct{})
	defer close(alive)
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for n := uint64(1); ; n++ {
			select {
			case <-tick.C:
				if wire.WriteFrame(good, wire.Message{Heartbeat: &wire.Heartbeat{Seq: n}}) != nil {
					return
				}
			case <-alive:
				return
			}
		}
	}()
	cert := r.ca.Agent(t, machine)
	for name, do := range map[string]func(p *puppet){
		"a frame that is too long":       func(p *puppet) { _, _ = p.Write([]byte{0x7f, 0xff, 0xff, 0xff}) },
		"an empty frame":                 func(p *puppet) { _, _ = p.Write([]byte{0, 0, 0, 0}) },
		"no JSON":                        func(p *puppet) { _, _ = p.Write(raw("{")) },
		"no message":                     func(p *puppet) { _, _ = p.Write(raw("{}")) },
		"two messages":                   func(p *puppet) { _, _ = p.Write(raw(`{"heartbeat":{"seq":1},"notice":{"kind":"x"}}`)) },
		"another hello":                  func(p *puppet) { p.say(wire.Message{Hello: &wire.Hello{InstanceID: machine}}) },
		"what a server says":             func(p *puppet) { p.say(wire.Message{Dial: &wire.Dial{ID: "x", Kind: wire.KindEngine}}) },
		"a text that is too long":        func(p *puppet) { p.say(wire.Message{Notice: &wire.Notice{Kind: strings.Repeat("x", 1000)}}) },
		"a text with a line in it":       func(p *puppet) { p.say(wire.Message{Notice: &wire.Notice{Kind: "a\nlevel=ERROR"}}) },
		"half a frame, and no more":      func(p *puppet) { _, _ = p.Write(raw(`{"heartbeat":{"seq":1}}`)[:9]) },
		"nothing":                        func(*puppet) {},
		"a flood of heartbeats":          func(p *puppet) { p.flood(wire.Message{Heartbeat: &wire.Heartbeat{Seq: 1}}) },
		"a flood of answers":             func(p *puppet) { p.flood(wire.Message{Dialed: &wire.Dialed{ID: "none"}}) },
		"notices in a heartbeat's place": func(p *puppet) { p.slowly(wire.Message{Notice: &wire.Notice{Kind: "x"}}) },
		"a byte at a time":               func(p *puppet) { p.bytewise(raw(`{"heartbeat":{"seq":1}}` + strings.Repeat(" ", 4000))) },
	} {
		t.Run(name, func(t *testing.T) {
			p := r.hello(cert, wire.Hello{InstanceID: machine})
			do(p)
			p.over()
			if e := r.event(hub.EventLost); e.Node.InstanceID == other {
				t.Fatal("another machine was lost")
			}
		})
	}
	if !r.Online(other) {
		t.Error("another machine is not connected any more")
	}
}

func (p *puppet) flood(m wire.Message) {
	for range 100_000 {
		if wire.WriteFrame(p, m) != nil {
			return
		}
	}
	p.t.Error("it may send as much as it likes")
}

// slowly sends within every limit but that of heartbeats.
func (p *puppet) slowly(m wire.Message) {
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for range 30 {
		if wire.WriteFrame(p, m) != nil {
			return
		}
		<-tick.C
	}
	p.t.Error("it is taken for alive")
}

func (p *puppet) bytewise(frame []byte) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := range frame {
		if _, err := p.Write(frame[i : i+1]); err != nil {
			return
		}
		<-tick.C
	}
	p.t.Error("a frame may take as long as it likes")
}

func TestAHelloHasADeadline(t *testing.T) {
	r := newRig(t, func(o *hub.Options) { o.Timing.Handshake = 300 * time.Millisecond })
	for _, protocol := range []string{wire.ProtocolControl, wire.ProtocolDial} {
		p := r.puppet(r.ca.Agent(t, machine), protocol)
		began := time.Now()
		p.over()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s: %v", protocol, took)
		}
	}
}

func TestAHelloInTheNameOfAnotherIsRefused(t *testing.T) {
	r := newRig(t, nil)
	p := r.puppet(r.ca.Agent(t, machine), wire.ProtocolControl)
	p.say(wire.Message{Hello: &wire.Hello{InstanceID: other}})
	if m := p.hear(); m.Refused == nil || m.Refused.Code != wire.CodeIdentityMismatch {
		t.Errorf("%+v", m)
	}
	if r.Online(other) || r.Online(machine) {
		t.Error("it is taken for one of them")
	}
}

func TestHandshakesOfOneAddressHaveABound(t *testing.T) {
	r := newRig(t, func(o *hub.Options) { o.Limits.PerAddress = 2 })
	cert := r.ca.Agent(t, machine)
	a, b := r.puppet(cert, wire.ProtocolControl), r.puppet(cert, wire.ProtocolControl) // no hello
	if _, err := r.dialAs(cert, wire.ProtocolControl); err == nil {
		t.Error("a third was taken")
	}
	_, _ = a.Close(), b.Close()
	ctx := ctxOf(t)
	for {
		p, err := r.dialAs(cert, wire.ProtocolControl)
		if err == nil {
			p.say(wire.Message{Hello: &wire.Hello{InstanceID: machine}})
			if p.hear().Welcome == nil {
				t.Error("not welcome")
			}
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestAConnectionEndsWithItsCertificate(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	p := r.hello(r.ca.Issue(t, wiretest.Leaf{Role: wire.RoleAgent, Name: machine, Tenants: []string{"acme"}, Life: 2 * time.Second}), wire.Hello{InstanceID: machine})
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for range tick.C {
			if wire.WriteFrame(p, wire.Message{Heartbeat: &wire.Heartbeat{}}) != nil {
				return
			}
		}
	}()
	if e := r.event(hub.EventLost); !strings.Contains(e.Reason, "expired") {
		t.Errorf("lost: %s", e.Reason)
	}
	<-done
}
