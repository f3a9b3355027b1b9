package registration_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/registration"
	"github.com/berth-cloud/berth/instances/wire"
)

// Containers on a machine have its address as well.
func TestAFloodFromAnAddressTakesNoRenewalAwayFromItsMachine(t *testing.T) {
	p := newPlace(t, func(o *registration.Options) { o.Burst = 3 })
	made, key := p.create(), newKey(t)
	mine := pair(t, []byte(p.register(made.RegistrationJWT, key).good.CertificatePEM), key)
	for refused := false; !refused; {
		refused = p.register("bad", newKey(t)).bad.Code == wire.CodeRateLimited
	}
	server := p.certificate(ca.Request{Role: wire.RoleServer, Name: "x", Hosts: []string{"x"}}, newKey(t))
	if r := p.send(p.dial(server), wire.RenewPath, []byte("{}")); r.bad.Code != wire.CodeRateLimited {
		t.Errorf("what is no machine has requests of its own: %d %s", r.status, r.body)
	}
	if r := p.send(p.dial(mine), wire.RenewPath, []byte("{}")); r.status != http.StatusOK {
		t.Errorf("the machine's renewal: %d %s", r.status, r.body)
	}
	codes := map[string]int{}
	for range 4 {
		codes[p.send(p.dial(mine), wire.RenewPath, []byte("{}")).bad.Code]++
	}
	if codes[wire.CodeRateLimited] == 0 {
		t.Errorf("a machine renews without end: %v", codes)
	}
}

// Whoever opens connections and says nothing has a few of them.
func TestConnectionsAreBoundedAltogetherAndByAddress(t *testing.T) {
	for name, limits := range map[string][2]int{"altogether": {2, 10}, "of one address": {10, 2}} {
		t.Run(name, func(t *testing.T) {
			inner, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			l := registration.Bound(inner, limits[0], limits[1])
			accepted := make(chan net.Conn, 10)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					accepted <- c
				}
			}()
			defer func() { _ = l.Close(); <-done }()
			dial := func() net.Conn {
				c, err := net.Dial("tcp", inner.Addr().String())
				must(t, err)
				t.Cleanup(func() { _ = c.Close() })
				must(t, c.SetDeadline(time.Now().Add(20*time.Second)))
				return c
			}
			dial()
			first := <-accepted
			dial()
			second := <-accepted
			defer second.Close()
			if _, err := dial().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("one too many is not closed: %v", err)
			}
			must(t, first.Close())
			_ = first.Close() // once more counts once
			dial()
			defer (<-accepted).Close()
			if _, err := dial().Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("one too many is not closed: %v", err)
			}
		})
	}
}
