package application

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store"
)

// ServiceStore is what a pass reads and writes. Every store.Store is one.
type ServiceStore interface {
	GetDesiredService(ctx context.Context, name string) (*store.DesiredService, error)
	GetAttempt(ctx context.Context, id int64) (store.Attempt, error)
	UpdateAttemptService(ctx context.Context, u store.AttemptService) error
	CreateRelease(ctx context.Context, r store.Release) (store.Release, error)
	GetRelease(ctx context.Context, id string) (store.Release, error)
	GetActiveRelease(ctx context.Context, service string) (store.ActiveRelease, error)
	SetActiveRelease(ctx context.Context, a store.ActiveRelease) (store.ActiveRelease, error)
	AppendTrace(ctx context.Context, events ...store.TraceEvent) error
	TakeAddress(ctx context.Context, q store.AddressRequest) (netip.Addr, error)
	FreeAddress(ctx context.Context, app, container string, now time.Time) error
	ListAddresses(ctx context.Context, app string) ([]store.Address, error)
	SaveKeptLog(ctx context.Context, l store.KeptLog) error
	SubnetStore
}

// Controller converges one service. It is built for one run and holds nothing
// that outlives it; what lasts is in the store or in the shared [Memory].
type Controller struct {
	service string
	store   ServiceStore
	rt      docker.Runtime
	deps
}

var _ reconcile.Controller = (*Controller)(nil)

// New builds the controller of a service. Everything that no option sets has
// a default that works alone: see the options.
func New(serviceName string, svcStore ServiceStore, runtime docker.Runtime, opts ...Option) *Controller {
	c := &Controller{service: serviceName, store: svcStore, rt: runtime, deps: defaultDeps()}
	for _, opt := range opts {
		opt(c)
	}
	c.complete()
	return c
}

// Name is "application/<service>".
func (c *Controller) Name() string { return ControllerName(c.service) }

// Reconcile observes, plans and executes, once. After an effect it asks to be
// run again at once, so that the next plan stands on what is then true.
func (c *Controller) Reconcile(ctx context.Context) (reconcile.Result, error) {
	w, err := c.gather(ctx)
	if err != nil {
		reason := ReasonEngineError
		if errors.Is(err, errStore) {
			reason = ReasonStoreError
		}
		return result(reconcile.Unknown, reason, err.Error()), err
	}
	plan := PlanPass(*w)
	if c.planned != nil {
		c.planned(w, plan)
	}
	done, err := c.execute(ctx, w, plan.Actions)
	res := reconcile.Result{Conditions: []reconcile.Condition{plan.Condition}, RequeueAfter: plan.Requeue}
	if err != nil {
		if c.recovers(err) {
			res.Conditions = result(reconcile.False, ReasonNodeRecovering, err.Error()).Conditions
		}
		c.logger.WarnContext(ctx, "pass stopped at an action", "service", c.service, "error", err)
		return res, err
	}
	if done > 0 {
		res.RequeueAfter = time.Millisecond
	}
	return res, nil
}

// Observe gathers the world and plans on it without acting: what a status is
// read from.
func (c *Controller) Observe(ctx context.Context) (*World, Plan, error) {
	w, err := c.gatherWorld(ctx)
	if err != nil {
		return nil, Plan{}, err
	}
	return w, PlanPass(*w), nil
}

// forget drops what is remembered of a service that is no longer there.
func (c *Controller) forget() {
	c.puller.Drop(c.service)
	c.memory.forget(c.service)
}

func result(status reconcile.ConditionStatus, reason Reason, message string) reconcile.Result {
	return reconcile.Result{Conditions: []reconcile.Condition{{
		Type: reconcile.ConditionReady, Status: status, Reason: string(reason), Message: message,
	}}}
}

// errStore marks errors of the store in a pass.
var errStore = errors.New("store")

func storeError(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, errStore, err)
}
