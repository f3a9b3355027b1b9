package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// Member is a machine that joined.
type Member struct {
	ID     string
	Name   string // for people; "" is ID
	Labels map[string]string
	Online bool
	Since  time.Time // of Online's value
	Gone   bool      // its provider or its record says so in so many words
	// BackBy is until when one that is not online is expected back: it was online a moment
	// ago, or this process has only begun to look for it. Zero is that it is not.
	BackBy time.Time
}

// Members are the machines that joined. All methods are safe for concurrent use;
// Members answers from memory, as it is asked at every call.
type Members interface {
	Members() []Member
	// Engine is the engine of a machine; one that is unknown is an error.
	Engine(id string) (docker.Runtime, error)
	// Dial opens a connection to an address on a machine.
	Dial(ctx context.Context, id, address string) (net.Conn, error)
}

// Options are what a fleet is made of.
type Options struct {
	Local    docker.Runtime // this machine's engine
	Members  Members        // nil: there is this machine only
	Instance string         // the value of docker.LabelInstance on what is ours
	Now      func() time.Time
	Logger   *slog.Logger
	// Missed is told of a node whose events were not heard for a while, once they are
	// again: whoever lives by events has to look at it. It is called on a goroutine of
	// the fleet's and must not block. Optional.
	Missed func(node string)
	// Bridge names the interface of an app's network on other nodes by its subnet; nil
	// lets their engines choose.
	Bridge func(subnet netip.Prefix) string
	// Dialer dials on this machine; nil is a net.Dialer.
	Dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	}
	// Patience bounds the wait for one node where several are asked; 0 means 5 s.
	Patience time.Duration
}

// defaultPatience is how long one of many nodes may take for its answer.
const defaultPatience = 5 * time.Second

// Fleet is the engines of all nodes. It is safe for concurrent use.
type Fleet struct {
	o Options

	mu      sync.Mutex
	nodes   map[string]*node
	gone    map[string]bool // was gone when it was last among the members
	placed  placements
	seq     uint64        // grows with everything that is learnt
	changed chan struct{} // closed when the members may have changed
	copies  map[copyKey]*copying

	nets localNetworks

	ctx   context.Context // of the copies that no caller waits for
	close context.CancelFunc
	wg    sync.WaitGroup
}

// New makes a fleet. It asks nobody yet. Close it when done.
func New(o Options) *Fleet {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Dialer == nil {
		o.Dialer = &net.Dialer{}
	}
	if o.Missed == nil {
		o.Missed = func(string) {}
	}
	if o.Patience <= 0 {
		o.Patience = defaultPatience
	}
	f := &Fleet{
		o: o, nodes: map[string]*node{}, gone: map[string]bool{}, placed: newPlacements(),
		changed: make(chan struct{}), copies: map[copyKey]*copying{},
	}
	f.ctx, f.close = context.WithCancel(context.Background())
	return f
}

// Close ends what goes on beside the calls, and waits for it.
func (f *Fleet) Close() {
	f.close()
	f.wg.Wait()
}

// All is every node as one engine. What is made goes where its app is placed, as far as
// that is known, and to this machine otherwise; what an app gave up is heeded likewise.
func (f *Fleet) All() docker.Runtime {
	if f.o.Members == nil {
		return f.o.Local
	}
	return &view{f: f}
}

// For is the engine of an app that is placed so. Containers on a node that the placement
// gave up are listed no more and not found for as long as the node is away; volumes are
// never given up. While no machine is joined and the app is placed here it is this
// machine's engine itself, so take one for every pass.
func (f *Fleet) For(p store.Placement) docker.Runtime {
	p.Nodes, p.Lost = slices.Clone(p.Nodes), slices.Clone(p.Lost)
	if len(p.Nodes) == 0 {
		p.Nodes = []string{""}
	}
	if !slices.ContainsFunc(p.Nodes, remote) {
		if f.o.Members == nil {
			return f.o.Local
		}
		if r := f.roll(); len(r.ids) == 1 && !r.others {
			return f.o.Local
		}
	}
	if p.AppID != "" {
		f.mu.Lock()
		f.placed.put(p, f.nodes)
		f.mu.Unlock()
	}
	return &view{f: f, nodes: p.Nodes, lost: p.Lost}
}

func remote(id string) bool { return id != "" }

// Changed tells that a machine came, went, or is no more. Without it that is noticed
// after a while.
func (f *Fleet) Changed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *Fleet) whenChanged() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

// unavailable is the error about a node that cannot be asked.
func unavailable(id string, why error) error {
	if why == nil {
		return fmt.Errorf("node %s is offline: %w", id, docker.ErrUnavailable)
	}
	if docker.IsUnavailable(why) {
		return fmt.Errorf("node %s: %w", id, why)
	}
	return fmt.Errorf("node %s: %w: %w", id, docker.ErrUnavailable, why)
}

// told names the node in an error of its engine; those of this machine stay as they are.
func told(id string, err error) error {
	if err == nil || id == "" {
		return err
	}
	return fmt.Errorf("node %s: %w", id, err)
}
