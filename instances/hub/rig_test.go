package hub_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
)

func TestMain(m *testing.M) {
	testimage.SideBySide(6)
	goleak.VerifyTestMain(m)
}

// rig is a hub that serves on loopback until the test ends.
type rig struct {
	testing.TB
	*hub.Hub
	ca   *wiretest.CA
	role wire.Role
	addr string
	sub  *hub.Subscription
	deny *denied
	stop context.CancelFunc // of the hub
	done chan struct{}
}

type denied struct {
	mu  sync.Mutex
	all map[string]bool
}

func (d *denied) Denied(serial string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.all[serial]
}

func (d *denied) add(serial string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all[serial] = true
}

// quick are timings of tests: what is to be waited for comes soon.
func quick() hub.Timing { return hub.Timing{Heartbeat: 200 * time.Millisecond, Probe: time.Second} }

func newRig(t testing.TB, change func(*hub.Options)) *rig {
	return newRigOf(t, wiretest.NewCA(t), wire.RoleServer, change)
}

func newRigOf(t testing.TB, ca *wiretest.CA, role wire.Role, change func(*hub.Options)) *rig {
	t.Helper()
	r := &rig{TB: t, ca: ca, role: role, deny: &denied{all: map[string]bool{}}, done: make(chan struct{})}
	opts := hub.Options{Certificate: wiretest.Held(ca.Server(t, role)), Roots: ca.Roots(), Deny: r.deny, Timing: quick()}
	if change != nil {
		change(&opts)
	}
	var err error
	if r.Hub, err = hub.New(opts); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr, r.sub = l.Addr().String(), r.Subscribe(100)
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() {
		defer close(r.done)
		if err := r.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

// agent runs one until the test ends, or stop is called.
func (r *rig) agent(instance string, change func(*agent.Config)) (stop func()) {
	r.Helper()
	cert := r.ca.Agent(r, instance)
	cfg := agent.Config{
		Dir:    wiretest.Folder(r, r.ca, wiretest.Machine{Instance: instance, Agent: r.addr, Cert: &cert}),
		BootID: "boot-1", Version: "test",
		Timing: agent.Timing{Heartbeat: 100 * time.Millisecond, RetryMin: 10 * time.Millisecond, RetryMax: 50 * time.Millisecond, RetrySlow: 100 * time.Millisecond},
	}
	if change != nil {
		change(&cfg)
	}
	return wiretest.RunAgent(r, cfg)
}

// connected runs an agent and waits for it.
func (r *rig) connected(instance string, change func(*agent.Config)) (stop func()) {
	r.Helper()
	stop = r.agent(instance, change)
	r.event(hub.EventConnected)
	return stop
}

// event waits for one of the kind, and passes over others.
func (r *rig) event(kind hub.EventKind) hub.Event {
	r.Helper()
	return r.either(kind, kind)
}

func (r *rig) either(kind, other hub.EventKind) hub.Event {
	r.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	for {
		select {
		case e := <-r.sub.Events():
			if e.Kind == kind || e.Kind == other {
				return e
			}
		case <-limit.C:
			r.Fatalf("no event %s", kind)
		}
	}
}

func ctxOf(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// puppet is an agent's end of a connection that a test moves by hand.
type puppet struct {
	*tls.Conn
	t testing.TB
}

func (r *rig) dialAs(cert tls.Certificate, protocol string) (*puppet, error) {
	raw, err := net.Dial("tcp", r.addr)
	if err != nil {
		return nil, err
	}
	peer := wire.Peer{Certificate: wiretest.Held(cert), Roots: r.ca.Roots(), Role: r.role}
	c := tls.Client(wire.Uncut(raw), peer.Client("127.0.0.1", protocol))
	r.Cleanup(func() { raw.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if err := c.Handshake(); err != nil {
		return nil, err
	}
	return &puppet{c, r}, nil
}

func (r *rig) puppet(cert tls.Certificate, protocol string) *puppet {
	r.Helper()
	p, err := r.dialAs(cert, protocol)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// hello is a puppet that was welcomed.
func (r *rig) hello(cert tls.Certificate, h wire.Hello) *puppet {
	r.Helper()
	p := r.puppet(cert, wire.ProtocolControl)
	p.say(wire.Message{Hello: &h})
	if m := p.hear(); m.Welcome == nil {
		r.Fatalf("not welcome: %+v", m.Refused)
	}
	return p
}

func (p *puppet) say(m any) {
	p.t.Helper()
	if err := wire.WriteFrame(p, m); err != nil {
		p.t.Fatal(err)
	}
}

func (p *puppet) hear() *wire.Message {
	p.t.Helper()
	m, err := wire.ReadMessage(p)
	if err != nil {
		p.t.Fatal(err)
	}
	return m
}

// over waits for the end of the connection.
func (p *puppet) over() {
	p.t.Helper()
	if _, err := io.Copy(io.Discard, p); isTimeout(err) {
		p.t.Error("the connection goes on")
	}
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error) //nolint:errorlint // the bare one is meant
	return ok && ne.Timeout()
}

// logTo is a logger whose lines a test reads.
func logTo(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }

type lines = wiretest.Log

// connectedTo runs an agent of two ends: the server's hub, and r as the data plane's.
func (r *rig) connectedTo(server *rig, instance string, change func(*agent.Config)) {
	r.Helper()
	cert := r.ca.Agent(r, instance)
	server.agent(instance, func(c *agent.Config) {
		c.Dir = wiretest.Folder(r, r.ca, wiretest.Machine{Instance: instance, Agent: server.addr, Ingress: r.addr, Cert: &cert})
		if change != nil {
			change(c)
		}
	})
	server.event(hub.EventConnected)
	r.event(hub.EventConnected)
}

// dialUntilReached waits for whoever is to listen there.
func (r *rig) dialUntilReached(instance, address string) (net.Conn, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx := ctxOf(r)
	for {
		conn, err := r.Dial(ctx, instance, wire.KindAddress, address)
		if !errors.Is(err, hub.ErrUnreachable) {
			return conn, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// target is a TCP server on loopback; each connection is passed to serve.
func target(t testing.TB, serve func(*net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				serve(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func (r *rig) reach(instance, address string) *hub.Conn {
	r.Helper()
	c, err := r.Dial(ctxOf(r), instance, wire.KindAddress, address)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c.(*hub.Conn)
}
