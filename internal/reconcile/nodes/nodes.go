package nodes

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/fleet"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// Kind is that of the keys of nodes.
const Kind = "node"

// Key is that of a node.
func Key(id string) reconcile.Key { return reconcile.Key{Kind: Kind, Name: cmp.Or(id, spec.LocalNode)} }

// Store is what is read and written; every store.Store is one.
type Store interface {
	store.NodeStore
	GetDesiredService(ctx context.Context, name string) (*store.DesiredService, error)
	ListDesiredServices(ctx context.Context, app string) ([]store.DesiredService, error)
	GetAttempt(ctx context.Context, id int64) (store.Attempt, error)
	GetActiveRelease(ctx context.Context, service string) (store.ActiveRelease, error)
	ListPendingTeardowns(ctx context.Context) ([]store.PendingTeardown, error)
}

// Fleet shows the machines that joined, and what runs on them.
type Fleet interface {
	Members() []fleet.Member
	// Holds is what is ours on a node.
	Holds(ctx context.Context, id string) ([]docker.ContainerState, []docker.Volume, error)
	// Sweep removes, on a node that is back, what runs elsewhere by now or is nobody's.
	Sweep(ctx context.Context, id string, o fleet.Sweeping) (fleet.Swept, error)
}

// Options are all required but where it says otherwise.
type Options struct {
	Store Store
	Fleet Fleet
	// Move replaces the containers of an app's services by new ones, as a restart does.
	Move func(ctx context.Context, app string) error
	// Wake has services looked at, by their full names.
	Wake func(services ...string)
	// Back is told of a node that is online again, whose events were missed.
	Back   func(id string)
	Now    func() time.Time // nil is time.Now
	Logger *slog.Logger     // nil discards
}

// Nodes decides where apps run. It is safe for concurrent use.
type Nodes struct {
	opts Options
	// deciding is held while a placement is decided and written: two apps that are placed
	// at once see each other.
	deciding sync.Mutex
	// began is when this process began to watch: for how long a node was away before,
	// nobody knows.
	began time.Time
}

// New prepares it.
func New(opts Options) *Nodes {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Nodes{opts: opts, began: opts.Now()}
}

// roster is all that is known of nodes at one moment.
type roster struct {
	members map[string]fleet.Member
	rows    map[string]store.Node
}

func (n *Nodes) roster(ctx context.Context) (*roster, error) {
	rows, err := n.opts.Store.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	r := &roster{members: map[string]fleet.Member{}, rows: map[string]store.Node{}}
	for _, m := range n.opts.Fleet.Members() {
		r.members[m.ID] = m
	}
	for _, row := range rows {
		r.rows[row.ID] = row
	}
	return r, nil
}

// gone reports whether it is known of a node that it is no more. One that nobody tells of
// may only not have been read yet.
func (r *roster) gone(id string) bool { return r.members[id].Gone }

// watched is since when a node was seen to be offline, by this process.
func (n *Nodes) watched(since time.Time) time.Time {
	if since.Before(n.began) {
		return n.began
	}
	return since
}

// overdue reports whether a node is offline for so long. While it is expected back it is
// not: it may have been this control plane that was away.
func (n *Nodes) overdue(r *roster, id string, after time.Duration) bool {
	since, offline := r.offline(id)
	return offline && !since.IsZero() && !n.expected(r, id) && !n.opts.Now().Before(n.watched(since).Add(after))
}

// expected reports whether a node that is offline is to be back in a moment.
func (n *Nodes) expected(r *roster, id string) bool {
	m := r.members[id]
	return !m.Online && !m.Gone && n.opts.Now().Before(m.BackBy)
}

// unreachable reports whether a node is offline, and nobody expects it back in a moment.
func (n *Nodes) unreachable(r *roster, id string) bool {
	_, offline := r.offline(id)
	return offline && !n.awaited(r, id)
}

// awaited reports whether an app may have to wait for a node: it is expected back, or nobody
// has told of it yet, as in the moments after a start.
func (n *Nodes) awaited(r *roster, id string) bool {
	_, joined := r.members[id]
	return !joined || n.expected(r, id)
}

// offline reports whether a node cannot be reached, and since when: zero when that is not
// known yet.
func (r *roster) offline(id string) (since time.Time, offline bool) {
	m, ok := r.members[id]
	if id == "" || ok && m.Online {
		return time.Time{}, false
	}
	if row := r.rows[id]; !row.OfflineSince.IsZero() {
		return row.OfflineSince, true
	}
	return m.Since, true
}
