package ingress

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store"
)

// Key is the one key of this controller.
var Key = reconcile.Key{Kind: "ingress", Name: "server"}

// RouteStore is where the routes are.
type RouteStore interface {
	Routes(ctx context.Context) (store.RouteState, error)
}

// Pusher keeps the data plane's table equal to the store's; it is shared by
// all runs of the controller.
type Pusher struct {
	Store RouteStore
	Plane Plane
	Link  *Link
	Facts func(ctx context.Context) (Facts, error)
	// Wake is told the services whose rows an acknowledgement newly covers.
	Wake func(service string)

	mu     sync.Mutex
	pushed Facts // with the last acknowledged push
}

// Reasons of the ingress condition.
const (
	ReasonInSync      = "InSync"
	ReasonUnreachable = "DataPlaneUnreachable"
	ReasonRefused     = "TableRefused"
	ReasonOlderStore  = "StoreOlderThanDataPlane"
	ReasonReadFailed  = "RoutesUnreadable"
)

// Controller is one run.
type Controller struct{ p *Pusher }

var _ reconcile.Controller = Controller{}

// Controller builds the controller of one run.
func (p *Pusher) Controller() Controller { return Controller{p} }

// Name is "ingress/server".
func (Controller) Name() string { return Key.String() }

// Reconcile pushes the table if the data plane does not have it.
func (c Controller) Reconcile(ctx context.Context) (reconcile.Result, error) {
	p := c.p
	state, err := p.Store.Routes(ctx)
	if err != nil {
		return verdict(reconcile.Unknown, ReasonReadFailed, err.Error()), fmt.Errorf("read the routes: %w", err)
	}
	if state.Version == 0 {
		return inSync(state), nil // there never was a route
	}
	facts, err := p.Facts(ctx)
	if err != nil {
		return verdict(reconcile.Unknown, ReasonReadFailed, err.Error()), err
	}
	before := p.Link.View()
	if before.Known && before.Acked == state.Version && p.pushedWith(facts) {
		return inSync(state), nil
	}
	ack, err := p.Plane.Push(ctx, Build(state, facts))
	switch {
	case errors.Is(err, table.ErrOldVersion), errors.Is(err, table.ErrSameVersion):
		p.Link.disown()
		err = fmt.Errorf("%w; its table is from a newer store than the one in this data directory", err)
		return verdict(reconcile.False, ReasonOlderStore, err.Error()), err
	case err != nil && before.Known:
		return verdict(reconcile.False, ReasonRefused, err.Error()), err
	case err != nil:
		// The link pushes again as soon as a data plane answers.
		return verdict(reconcile.False, ReasonUnreachable, err.Error()), nil
	}
	p.note(facts)
	p.Link.acknowledged(ack)
	for i := range state.Active {
		if a := &state.Active[i]; a.Version > before.Acked {
			p.Wake(a.Service)
		}
	}
	return inSync(state), nil
}

func (p *Pusher) pushedWith(f Facts) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pushed == f
}

func (p *Pusher) note(f Facts) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pushed = f
}

func inSync(s store.RouteState) reconcile.Result {
	return verdict(reconcile.True, ReasonInSync, fmt.Sprintf("the data plane serves %d services", len(s.Active)))
}

func verdict(status reconcile.ConditionStatus, reason, message string) reconcile.Result {
	return reconcile.Result{Conditions: []reconcile.Condition{{
		Type: reconcile.ConditionReady, Status: status, Reason: reason, Message: message,
	}}}
}
