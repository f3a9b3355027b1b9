package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/internal/reconcile"
)

const (
	// MaxSending is how many leases a Post sends for at once.
	MaxSending = 64
	// MaxSendingTo is how many of them may be for one receiver, so that one that does
	// not answer leaves room for the others.
	MaxSendingTo = 4

	postResync  = 15 * time.Minute
	postTimeout = 30 * time.Minute // of one Step: MaxPending answers, each just in time
	kindPost    = "callbacks"
)

// Post is an Outbox that sends by itself, beside the work on leases: a receiver that
// does not answer for SendTimeout holds up nobody else's work, and of the callbacks
// only those of its own leases. Where more receivers than MaxSending/MaxSendingTo do
// not answer, callbacks to others wait for their turn.
//
// What it knows is in the store; a start finds what waits.
type Post struct {
	*Outbox
	engine *reconcile.Engine
	sent   func(lease string)
}

// NewPost makes a Post of an Outbox. sent is told of each lease of which nothing waits
// any more, and may be nil. It sends once Run is called.
func NewPost(o *Outbox, sent func(lease string), logger *slog.Logger) *Post {
	if sent == nil {
		sent = func(string) {}
	}
	p := &Post{Outbox: o, sent: sent}
	p.engine = reconcile.New(p.controller, reconcile.Config{
		Workers: MaxSending, PassTimeout: postTimeout, DrainTimeout: SendTimeout, ResyncInterval: postResync, List: p.keys, Logger: logger,
		Group:      func(key reconcile.Key) string { return o.receiver(context.Background(), key.Name) },
		GroupLimit: func(string) int { return MaxSendingTo },
	})
	return p
}

// Run sends until ctx is done, and then for as long as attempts are under way.
func (p *Post) Run(ctx context.Context) error {
	defer p.client.CloseIdleConnections()
	return p.engine.Run(ctx)
}

// Add is that of the Outbox, and has the callback sent at once where none waits
// before it.
func (p *Post) Add(ctx context.Context, lease, url, operation string, payload backend.CallbackPayload) error {
	err := p.Outbox.Add(ctx, lease, url, operation, payload)
	if name, wrong := leaseName(lease); wrong == nil && !errors.Is(err, ErrInvalid) {
		p.engine.Kick(postKey(name)) // also after an error: it may be stored
	}
	return err
}

// Step does nothing: what is due is sent without it.
func (p *Post) Step(context.Context, string) (time.Duration, error) { return 0, nil }

func postKey(lease string) reconcile.Key { return reconcile.Key{Kind: kindPost, Name: lease} }

// controller is the round of a lease; nil for one of which nothing waits.
func (p *Post) controller(ctx context.Context, key reconcile.Key) (reconcile.Controller, error) {
	if key.Kind != kindPost {
		return nil, fmt.Errorf("no controller is known for key %s", key)
	}
	switch state, err := p.Look(ctx, key.Name); {
	case errors.Is(err, ErrRecord): // the Step says so too
	case err != nil:
		return nil, err
	case state.Pending == 0:
		return nil, nil
	}
	return round{p, key.Name}, nil
}

func (p *Post) keys(ctx context.Context) ([]reconcile.Key, error) {
	waiting, err := p.Pending(ctx)
	if err != nil {
		return nil, err
	}
	keys := make([]reconcile.Key, len(waiting))
	for i, lease := range waiting {
		keys[i] = postKey(lease)
	}
	return keys, nil
}

// round is one Step of one lease.
type round struct {
	post  *Post
	lease string
}

var _ reconcile.Controller = round{}

// Name implements reconcile.Controller.
func (r round) Name() string { return postKey(r.lease).String() }

// Reconcile implements reconcile.Controller.
func (r round) Reconcile(ctx context.Context) (reconcile.Result, error) {
	again, err := r.post.Outbox.Step(ctx, r.lease)
	if again == 0 && err == nil {
		r.post.sent(r.lease)
	}
	return reconcile.Result{RequeueAfter: again}, err
}
