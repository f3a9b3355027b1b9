package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
)

func TestAnEndWithAnotherRoleIsNotTaken(t *testing.T) {
	for _, role := range []wire.Role{wire.RoleIngress, wire.RoleAgent} {
		r := newRig(t, wiretest.Machine{})
		h, addr := plane(t, r.ca, role, hub.Timing{})
		cert := r.ca.Agent(t, machine)
		r.dir = wiretest.Folder(t, r.ca, wiretest.Machine{Instance: machine, Agent: addr, Cert: &cert})
		r.cfg.Dir = r.dir
		stop := r.run()
		r.until("a complaint", func() bool { return strings.Contains(r.log.String(), "no connection") })
		stop()
		if h.Online(machine) {
			t.Errorf("%s passes for the server", role)
		}
	}
}

// told is a provider that gives notice when a test says so.
type told chan wire.Notice

func (n told) Watch(ctx context.Context, found func(wire.Notice)) error {
	for {
		select {
		case notice := <-n:
			found(notice)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestANoticeIsPassedOnAtOnceAndToWhoeverComesLater(t *testing.T) {
	r := newRig(t, wiretest.Machine{})
	h, addr := plane(t, r.ca, wire.RoleServer, hub.Timing{})
	sub := h.Subscribe(20)
	defer sub.Close()
	cert := r.ca.Agent(t, machine)
	r.dir = wiretest.Folder(t, r.ca, wiretest.Machine{Instance: machine, Agent: addr, Cert: &cert})
	notices := make(told)
	r.cfg.Dir, r.cfg.Notices, r.cfg.Timing.Heartbeat = r.dir, notices, time.Hour
	r.run()
	r.until("a connection", func() bool { return h.Online(machine) })
	at := time.Now().Add(2 * time.Minute).UTC().Truncate(time.Second)
	notices <- wire.Notice{Kind: wire.NoticeTermination, At: at}
	r.until("the notice", func() bool {
		n, _ := h.Node(machine)
		return n.Notice != nil && n.Notice.At.Equal(at)
	})
}

func TestARenewedCertificateIsUsedAndNoDialIsLostMeanwhile(t *testing.T) {
	r := newRig(t, wiretest.Machine{})
	h, addr := plane(t, r.ca, wire.RoleServer, hub.Timing{})
	r.put("nonce.jwt", "token")
	r.put("bootstrap.json", strings.ReplaceAll(r.file("bootstrap.json"), "127.0.0.1:1\"", addr+"\""))
	r.reg.life = 3 * time.Second
	r.cfg.Jitter = func() float64 { return 0 }
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	r.run()
	r.until("a connection", func() bool { return h.Online(machine) })
	serials := map[string]bool{}
	r.until("three certificates", func() bool {
		n, online := h.Node(machine)
		if !online {
			t.Error("it was offline")
			return true
		}
		if serials[n.Serial] = true; len(serials) == 3 {
			r.reg.set(func() { r.reg.life = time.Hour })
		}
		c, err := h.Dial(t.Context(), machine, wire.KindAddress, l.Addr().String())
		if err != nil {
			t.Errorf("a dial: %v", err)
			return true
		}
		_, _ = io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
		if all, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(all), "ok") {
			t.Errorf("%q, %v", all, err)
		}
		c.Close()
		return len(serials) >= 3
	})
}

func TestTheHostIsServedToTheServerOverHTTP(t *testing.T) {
	r := newRig(t, wiretest.Machine{})
	h, addr := plane(t, r.ca, wire.RoleServer, hub.Timing{})
	cert := r.ca.Agent(t, machine)
	r.dir = wiretest.Folder(t, r.ca, wiretest.Machine{Instance: machine, Agent: addr, Cert: &cert})
	r.cfg.Dir = r.dir
	r.cfg.Limits.Dials = 2
	r.cfg.Host = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { fmt.Fprint(w, req.URL.Path) })
	r.run()
	r.until("a connection", func() bool { return h.Online(machine) })
	dial := h.Dialer(machine, wire.KindHost)
	// More in all than there are slots, which are given back.
	for range 8 {
		transport := &http.Transport{DialContext: dial}
		r.until("an answer", func() bool {
			res, err := (&http.Client{Transport: transport}).Get("http://host/facts")
			if errors.Is(err, hub.ErrBusy) {
				return false
			}
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			return string(body) == "/facts"
		})
		transport.CloseIdleConnections()
	}
}
