package nodes

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

// Options are what the end of agents' connections is made of.
type Options struct {
	Log *slog.Logger // nil discards
	// Touch is called when the report has changed; nil is nobody.
	Touch func()
	// Role is that of the certificate that is pushed; "" is wire.RoleIngress, and so
	// that agents refuse what an ingress may not ask for.
	Role wire.Role
	// Timing are deadlines of the hub; 0 is the default, but for a heartbeat of 3 s:
	// a node that is gone is to be known soon.
	Timing hub.Timing
	// Arrival is how long after a start a node counts as on its way, so that a dial
	// waits for it; 5 s when 0.
	Arrival time.Duration
	// Relisten is the pause before an address that is taken is tried again; 1 s when 0.
	Relisten time.Duration
	Now      func() time.Time // nil is the machine's clock
}

func (o *Options) fill() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Touch == nil {
		o.Touch = func() {}
	}
	if o.Role == "" {
		o.Role = wire.RoleIngress
	}
	if o.Timing.Heartbeat == 0 {
		o.Timing.Heartbeat = 3 * time.Second
	}
	if o.Arrival == 0 {
		o.Arrival = 5 * time.Second
	}
	if o.Relisten == 0 {
		o.Relisten = time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Limits of the hub. One address may be that of many containers of one machine.
const (
	maxHandshakes = 1024
	perAddress    = 256
	connsPerNode  = 4096
)

// Nodes are the nodes of which the data plane is told. Methods are safe for concurrent use.
type Nodes struct {
	opts  Options
	hub   *hub.Hub
	sub   *hub.Subscription
	creds atomic.Pointer[credentials]

	life context.Context //nolint:containedctx // until Close; each part has its own below it
	end  context.CancelFunc
	wg   sync.WaitGroup

	using sync.Mutex // held over a change of the cluster

	mu       sync.Mutex
	cluster  table.Cluster
	told     bool // of a cluster, ever
	listener *listener
	stop     context.CancelFunc // of what the listener has taken
	failed   error              // why there is none
	changed  chan struct{}      // closed and replaced when a node comes or goes
	arriving chan struct{}      // closed: nobody is on the way any more
	expected int                // as many end the waiting; 0 is not known
	heir     *heir              // who dials from now on; nil: this process
}

// New is the end of no connections yet. Close ends it.
func New(o Options) (*Nodes, error) {
	o.fill()
	n := &Nodes{opts: o, changed: make(chan struct{}), arriving: make(chan struct{})}
	close(n.arriving)
	var err error
	n.hub, err = hub.New(hub.Options{
		Certificate: n.certificate, Roots: n.roots, Deny: n, Log: o.Log, Now: o.Now, Timing: o.Timing,
		Limits: hub.Limits{Handshakes: maxHandshakes, PerAddress: perAddress, Conns: connsPerNode},
	})
	if err != nil {
		return nil, err
	}
	n.life, n.end = context.WithCancel(context.Background())
	n.sub = n.hub.Subscribe(256)
	n.wg.Go(n.follow)
	return n, nil
}

// Close ends all, what was dialled included.
func (n *Nodes) Close() {
	n.end()
	n.wg.Wait()
	n.sub.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.heir != nil {
		n.heir.close()
	}
}

// Use puts a valid cluster into use: first all that can fail, then save, then what cannot.
// When it fails, all is as before. The answer is the address at which agents are taken.
func (n *Nodes) Use(c table.Cluster, save func() error) (address string, err error) {
	n.using.Lock()
	defer n.using.Unlock()
	var creds *credentials
	var fresh *listener
	if c.Listen != "" {
		if creds, err = parse(&c, n.opts.Role, n.opts.Now()); err != nil {
			return "", err
		}
		if now := n.current(); now == nil || !now.is(c.Listen) {
			if fresh, err = n.listen(c.Listen); err != nil {
				return "", err
			}
		}
	}
	if err := save(); err != nil {
		if fresh != nil {
			_ = fresh.Close()
		}
		return "", err
	}
	n.take(c, creds)
	switch {
	case c.Listen == "":
		n.stopListening()
	case fresh != nil:
		n.serve(fresh)
	default:
		n.current().name(c.Listen)
	}
	n.hub.Recheck()
	n.opts.Touch()
	if l := n.current(); l != nil {
		address = l.Addr().String()
	}
	return address, nil
}

func (n *Nodes) take(c table.Cluster, creds *credentials) {
	if creds != nil {
		n.creds.Store(creds)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cluster, n.told, n.failed = c, true, nil
}

// Restore puts into use what was saved before this process began. What cannot be used is
// logged, and in the report; an address that is taken is tried again and again. inherited
// is the listening socket of the process before, nil for none; it is used when it is at
// the same address, else closed. expected is how many nodes that process had.
func (n *Nodes) Restore(c table.Cluster, inherited *net.TCPListener, expected int) {
	n.using.Lock()
	defer n.using.Unlock()
	if c.Listen == "" {
		if inherited != nil {
			_ = inherited.Close()
		}
		n.take(c, nil)
		return
	}
	creds, err := parse(&c, n.opts.Role, n.opts.Now())
	if err != nil {
		n.opts.Log.Error("what is stored for the agents of nodes cannot be used; nodes are out of reach until it is pushed anew", "error", err)
		if inherited != nil {
			_ = inherited.Close()
		}
		n.take(table.Cluster{Protocol: c.Protocol, Version: c.Version}, nil)
		n.fail(err)
		return
	}
	n.take(c, creds)
	n.Expect(expected)
	if inherited != nil {
		n.serve(newListener(inherited, c.Listen))
		return
	}
	l, err := n.listen(c.Listen)
	if err != nil {
		n.fail(err)
		n.opts.Log.Error("agents of nodes cannot be taken; it is tried again", "error", err)
		n.wg.Go(n.relisten)
		return
	}
	n.serve(l)
}

// relisten tries until there is a listener, or another cluster in use.
func (n *Nodes) relisten() {
	tick := time.NewTicker(n.opts.Relisten)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-n.life.Done():
			return
		}
		if n.relistenOnce() {
			return
		}
	}
}

func (n *Nodes) relistenOnce() (done bool) {
	n.using.Lock()
	defer n.using.Unlock()
	n.mu.Lock()
	address, has := n.cluster.Listen, n.listener != nil
	n.mu.Unlock()
	if has || address == "" {
		return true
	}
	l, err := n.listen(address)
	if err != nil {
		return false
	}
	n.mu.Lock()
	n.failed = nil
	n.mu.Unlock()
	n.serve(l)
	n.opts.Touch()
	return true
}

func (n *Nodes) fail(err error) {
	n.mu.Lock()
	n.failed = err
	n.mu.Unlock()
	n.opts.Touch()
}

func (n *Nodes) current() *listener {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.listener
}

func (n *Nodes) listen(address string) (*listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(n.life, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s for the agents of nodes: %w", address, err)
	}
	tl, ok := l.(*net.TCPListener)
	if !ok {
		_ = l.Close()
		return nil, fmt.Errorf("listen on %s for the agents of nodes: it is no TCP socket", address)
	}
	return newListener(tl, address), nil
}

// serve takes agents by l. What came by the listener before goes on until it ends.
func (n *Nodes) serve(l *listener) {
	ctx, cancel := context.WithCancel(n.life)
	n.mu.Lock()
	before := n.listener
	n.listener, n.stop = l, cancel
	n.mu.Unlock()
	if before != nil {
		before.leave()
	}
	n.opts.Log.Info("agents of nodes are taken", "address", l.Addr().String())
	n.wg.Go(func() {
		defer cancel()
		_ = n.hub.Serve(ctx, l) // it ends when it is told to
	})
}

// stopListening ends the listener and all that came by it.
func (n *Nodes) stopListening() {
	n.mu.Lock()
	stop := n.stop
	n.listener, n.stop = nil, nil
	n.mu.Unlock()
	if stop != nil {
		stop()
	}
}
