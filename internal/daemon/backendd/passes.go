package backendd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/internal/daemon"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/provider"
)

const kindLease = "lease"

func leaseKey(lease string) reconcile.Key { return reconcile.Key{Kind: kindLease, Name: lease} }

// pass is one step of one lease.
type pass struct {
	hosting *hosting.Hosting
	engine  *daemon.Presence
	lease   string
}

var _ reconcile.Controller = pass{}

// Name implements reconcile.Controller.
func (p pass) Name() string { return leaseKey(p.lease).String() }

// Reconcile implements reconcile.Controller.
func (p pass) Reconcile(ctx context.Context) (reconcile.Result, error) {
	again, err := p.hosting.Step(ctx, p.lease)
	if errors.Is(err, provider.ErrUnavailable) && p.engine.Absent() != nil {
		err = fmt.Errorf("%w: %w", reconcile.ErrTold, err)
	}
	return reconcile.Result{RequeueAfter: again}, err
}

// factory is the pass of a lease; nil for one of which nothing is left.
func (b *backendd) factory(ctx context.Context, key reconcile.Key) (reconcile.Controller, error) {
	if key.Kind != kindLease {
		return nil, fmt.Errorf("no controller is known for key %s", key)
	}
	if !b.hosting.Knows(key.Name) {
		waiting, err := b.outbox.Look(ctx, key.Name)
		if err != nil {
			return nil, err
		}
		if waiting.Pending == 0 {
			// Callbacks are added by passes, of which this is the lease's only one.
			return nil, b.outbox.Forget(ctx, key.Name)
		}
	}
	return pass{b.hosting, b.engineAt, key.Name}, nil
}

// forgetSent has the outbox forget a lease of which nothing else is left, once its last
// callback is acknowledged.
func (b *backendd) forgetSent(lease string) {
	if !b.hosting.Knows(lease) {
		b.engine.Enqueue(leaseKey(lease))
	}
}

// keys lists every lease of which there is anything, those included of which the
// outbox alone remembers something.
func (b *backendd) keys(ctx context.Context) ([]reconcile.Key, error) {
	leases, err := b.hosting.Leases(ctx)
	if err != nil {
		return nil, err
	}
	remembered, err := b.state.List(ctx, callbackPrefix+"/")
	if err != nil {
		return nil, fmt.Errorf("list callbacks: %w", err)
	}
	seen := make(map[string]bool, len(leases))
	keys := make([]reconcile.Key, 0, len(leases))
	add := func(lease string) {
		if !seen[lease] {
			seen[lease] = true
			keys = append(keys, leaseKey(lease))
		}
	}
	for _, lease := range leases {
		add(lease)
	}
	for _, key := range remembered {
		add(strings.TrimPrefix(key, callbackPrefix+"/"))
	}
	return keys, nil
}

// watch turns what is asked and what the engine reports into keys. The stream of events
// is how it is known whether the engine is there.
func (b *backendd) watch(ctx context.Context, ready func(), emit func(reconcile.Key)) error {
	err := b.hosting.Watch(ctx, func() {
		b.engineAt.There(ctx)
		ready()
	}, func(lease string) { emit(leaseKey(lease)) })
	if ctx.Err() != nil {
		return err
	}
	b.engineAt.Gone(ctx, err)
	return fmt.Errorf("%w: %w", reconcile.ErrTold, err)
}
