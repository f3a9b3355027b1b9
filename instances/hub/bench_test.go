package hub_test

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
)

// ways are a direct connection to a target and one through an agent, both on loopback.
func ways(b *testing.B, serve func(*net.TCPConn), run func(b *testing.B, dial func() net.Conn)) {
	r := newRig(b, func(o *hub.Options) { o.Timing = hub.Timing{} })
	r.connected(machine, func(c *agent.Config) { c.Timing = agent.Timing{} })
	at := target(b, serve)
	for name, dial := range map[string]func(context.Context) (net.Conn, error){
		"direct": func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", at) },
		"agent":  func(ctx context.Context) (net.Conn, error) { return r.Dial(ctx, machine, wire.KindAddress, at) },
	} {
		b.Run(name, func(b *testing.B) {
			run(b, func() net.Conn {
				c, err := dial(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				return c
			})
		})
	}
}

// BenchmarkThroughput reads what a target sends.
func BenchmarkThroughput(b *testing.B) {
	const piece = 1 << 20
	junk := make([]byte, piece)
	ways(b, func(c *net.TCPConn) {
		for {
			if _, err := c.Write(junk); err != nil {
				return
			}
		}
	}, func(b *testing.B, dial func() net.Conn) {
		c := dial()
		defer c.Close()
		buf := make([]byte, piece)
		b.SetBytes(piece)
		for b.Loop() {
			if _, err := io.ReadFull(c, buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRoundTrip sends a byte and waits for it, on one connection.
func BenchmarkRoundTrip(b *testing.B) {
	ways(b, echo, func(b *testing.B, dial func() net.Conn) {
		c := dial()
		defer c.Close()
		trip(b, c, b.N)
	})
}

// BenchmarkDial opens a connection, sends a byte and waits for it.
func BenchmarkDial(b *testing.B) {
	ways(b, echo, func(b *testing.B, dial func() net.Conn) {
		for b.Loop() {
			c := dial()
			trip(b, c, 1)
			_ = c.Close()
		}
	})
}

func echo(c *net.TCPConn) { _, _ = io.Copy(c, c) }

func trip(b *testing.B, c net.Conn, times int) {
	buf := make([]byte, 1)
	for range times {
		if _, err := c.Write(buf); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			b.Fatal(err)
		}
	}
}
