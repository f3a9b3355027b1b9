package nodetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"testing"
	"time"
)

// Ports that everybody in a lab listens on, by TCP and UDP.
var listening = []int{53, 80, 443, 7000}

// serve answers with a name, whoever asks.
func serve(t testing.TB, s *Space, name string) {
	t.Helper()
	for _, port := range listening {
		var (
			l   net.Listener
			p   net.PacketConn
			err error
		)
		fault := s.Do(func() {
			var c net.ListenConfig
			address := ":" + strconv.Itoa(port)
			if l, err = c.Listen(context.Background(), "tcp", address); err == nil {
				p, err = c.ListenPacket(context.Background(), "udp", address)
			}
		})
		if err := errors.Join(err, fault); err != nil {
			t.Fatalf("listen in %s: %v", name, err)
		}
		t.Cleanup(func() { _, _ = l.Close(), p.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_ = c.SetDeadline(time.Now().Add(dialTimeout))
				_, _ = io.WriteString(c, name+"\n")
				_ = c.Close()
			}
		}()
		go func() {
			buf := make([]byte, 16)
			for {
				_, from, err := p.ReadFrom(buf)
				if err != nil {
					return
				}
				_, _ = p.WriteTo([]byte(name+"\n"), from)
			}
		}()
	}
}

// dialTimeout bounds one try: all are on one machine, and refused at once.
const dialTimeout = 700 * time.Millisecond

// errConnected is a dial that arrived and had no answer. By UDP all are connected.
var errConnected = errors.New("it was connected")

// dial reports who answered.
func (s *Space) dial(network, address, local string) (string, error) {
	var (
		conn net.Conn
		err  error
	)
	fault := s.Do(func() {
		d := net.Dialer{Timeout: dialTimeout}
		if local != "" {
			d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(local)}
		}
		conn, err = d.DialContext(context.Background(), network, address)
	})
	if err := errors.Join(err, fault); err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(dialTimeout)); err != nil {
		return "", err
	}
	if network == "udp" {
		if _, err := conn.Write([]byte("?")); err != nil {
			return "", err
		}
	}
	buf := make([]byte, 64)
	n, err := conn.Read(buf)
	if err != nil {
		return "", fmt.Errorf("%w, and then: %w", errConnected, err)
	}
	return string(buf[:max(0, n-1)]), nil
}
