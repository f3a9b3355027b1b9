package hub_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
)

func TestWhatIsSentEndsBeforeWhatIsReceived(t *testing.T) {
	r := newRig(t, nil)
	r.connected(machine, nil)
	at := target(t, func(c *net.TCPConn) {
		all, _ := io.ReadAll(c) // ends when the dialler's half does
		_, _ = c.Write(append([]byte("heard "), all...))
	})
	c := r.reach(machine, at)
	if _, err := c.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(c); string(got) != "heard question" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestWhatIsReceivedEndsBeforeWhatIsSent(t *testing.T) {
	r := newRig(t, nil)
	r.connected(machine, nil)
	got := make(chan []byte, 1)
	at := target(t, func(c *net.TCPConn) {
		_, _ = c.Write([]byte("first"))
		_ = c.CloseWrite()
		all, _ := io.ReadAll(c)
		got <- all
	})
	c := r.reach(machine, at)
	if first, err := io.ReadAll(c); string(first) != "first" || err != nil {
		t.Fatalf("%q, %v", first, err)
	}
	_, _ = c.Write([]byte("and the rest"))
	_ = c.CloseWrite()
	if rest := <-got; string(rest) != "and the rest" {
		t.Errorf("%q", rest)
	}
}

func TestAConnectionThatBreaksIsNoEnd(t *testing.T) {
	r := newRig(t, nil)
	r.connected(machine, nil)
	at := target(t, func(c *net.TCPConn) {
		_, _ = c.Write([]byte("half of it"))
		_, _ = io.ReadFull(c, make([]byte, 1))
		_ = c.SetLinger(0) // reset
	})
	c := r.reach(machine, at)
	if _, err := io.ReadFull(c, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write([]byte("x"))
	if _, err := io.ReadAll(c); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a reset looks like %v", err)
	}
}

func TestAnAgentThatDiesLeavesNoConnectionThatLooksWhole(t *testing.T) {
	r := newRig(t, nil)
	stop := r.connected(machine, nil)
	at := target(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	c := r.reach(machine, at)
	_, _ = c.Write([]byte("x"))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	stop()
	if _, err := io.ReadAll(c); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an agent that ends looks like %v", err)
	}
}

// A target that says nothing would otherwise have its connection carried for ever.
func TestAConnectionWhoseDiallerIsGoneIsCarriedNoMore(t *testing.T) {
	r := newRig(t, nil)
	r.connected(machine, nil)
	over := make(chan struct{})
	defer close(over)
	at := target(t, func(*net.TCPConn) { <-over })
	c, half := r.reach(machine, at), r.reach(machine, at)
	carried := func(want int) {
		t.Helper()
		for ctx := ctxOf(t); ; {
			n := r.event(hub.EventHeartbeat).Node.Metrics.Dials
			if n == want {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("%d connections are carried, not %d", n, want)
			}
		}
	}
	carried(2)
	_ = half.CloseWrite() // it still listens
	_ = c.Close()
	carried(1)
	_ = half.Close()
	carried(0)
}

func TestBulkGoesThroughWhole(t *testing.T) {
	r := newRig(t, nil)
	r.connected(machine, nil)
	at := target(t, func(c *net.TCPConn) {
		_, _ = io.Copy(c, c)
	})
	c := r.reach(machine, at)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	go func() {
		_, _ = c.Write(sent)
		_ = c.CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes, %v", len(got), len(sent), err)
	}
}

func TestTheEngineIsReachedOverTheDialerOfItsKind(t *testing.T) {
	r := newRig(t, nil)
	r.connected(machine, func(c *agent.Config) { c.EngineSocket = "/none" })
	_, err := r.Dialer(machine, wire.KindEngine)(ctxOf(t), "tcp", "ignored:1")
	var op *net.OpError
	if !errors.As(err, &op) || op.Addr.String() != machine+"/engine" {
		t.Errorf("%v", err)
	}
}
