package hub_test

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
)

// One hub takes the machines of another at the same address. What was dialled stays.
func TestMachinesThatAreReleasedConnectAnewAndWhatWasDialledStays(t *testing.T) {
	at := target(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	r := newRig(t, nil)
	r.connected("one", nil)
	standing := r.reach("one", at)
	r.Release()
	if e := r.event(hub.EventLost); e.Node.InstanceID != "one" {
		t.Errorf("lost is %s", e.Node.InstanceID)
	}
	if _, err := r.Dial(ctxOf(t), "one", wire.KindAddress, at); !errors.Is(err, hub.ErrOffline) {
		t.Errorf("a dial: %v", err)
	}
	if _, err := io.WriteString(standing, "still"); err != nil {
		t.Fatal(err)
	}
	_ = standing.CloseWrite()
	if got, err := io.ReadAll(standing); err != nil || string(got) != "still" {
		t.Errorf("%q, %v", got, err)
	}
	// It takes nobody any more.
	cert := r.ca.Agent(t, "two")
	p := r.puppet(cert, wire.ProtocolControl)
	p.say(wire.Message{Hello: &wire.Hello{InstanceID: "two", BootID: "b"}})
	if m := p.hear(); m.Refused == nil || m.Refused.Code != wire.CodeBusy {
		t.Errorf("another machine: %+v", m)
	}
}
