package workloads

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/provider"
)

// Keys lists every workload for the engine.
func (s *Service) Keys(ctx context.Context) ([]reconcile.Key, error) {
	all, err := s.rows(ctx)
	if err != nil {
		return nil, err
	}
	keys := make([]reconcile.Key, len(all))
	for i, r := range all {
		keys[i] = r.key()
	}
	return keys, nil
}

// Controller is for one pass of a workload, by the name of its key; nil when there
// is no such workload.
func (s *Service) Controller(ctx context.Context, name string) (reconcile.Controller, error) {
	_, text, _ := strings.Cut(name, "/")
	workload, err := id.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("key %s/%s: %w", Kind, name, err)
	}
	r, err := s.rowByID(ctx, workload)
	if errors.Is(err, provider.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return controller{s, r}, nil
}

// controller carries out what is recorded about one workload.
type controller struct {
	s   *Service
	row row
}

var _ reconcile.Controller = controller{}

// Name implements reconcile.Controller.
func (c controller) Name() string { return c.row.key().String() }

// withoutProvider is how long until a workload is looked at again whose provider is
// not registered.
const withoutProvider = time.Minute

// Reconcile implements reconcile.Controller: the open rollout goes on, and without one
// the provider looks after what runs.
func (c controller) Reconcile(ctx context.Context) (reconcile.Result, error) {
	if c.row.Removing {
		return reconcile.Result{}, c.s.remove(ctx, c.row)
	}
	after, err := c.s.rollouts.Step(ctx, c.row.ID)
	if err != nil || after > 0 {
		return reconcile.Result{RequeueAfter: after}, err
	}
	ctx, p, err := c.s.cfg.Registry.Acquire(ctx, c.row.Provider)
	if errors.Is(err, provider.ErrProviderNotFound) {
		return reconcile.Result{RequeueAfter: withoutProvider}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	stepper, ok := p.(provider.Stepper)
	if !ok {
		return reconcile.Result{}, nil
	}
	after, err = stepper.Step(ctx, c.row.ID)
	if errors.Is(err, provider.ErrNotFound) {
		return reconcile.Result{}, nil // named, and never provisioned
	}
	return reconcile.Result{RequeueAfter: after}, err
}

// remove takes everything of a workload away and then its row.
func (s *Service) remove(ctx context.Context, r row) error {
	err := s.rollouts.Deprovision(ctx, r.ID)
	if err == nil {
		// Also what no record knows.
		err = s.deprovision(ctx, r)
	}
	if err != nil {
		err = fmt.Errorf("remove workload %s: %w", r.Name, err)
		if ctx.Err() == nil {
			s.note(r, "delete", err)
		}
		return err
	}
	return s.drop(ctx, r)
}

func (s *Service) deprovision(ctx context.Context, r row) error {
	ctx, t, _, err := s.target(ctx, r)
	if err != nil {
		return err
	}
	return t.Deprovision(ctx, r.ID)
}

// Watch tells of workloads that something happened to at a provider, until ctx
// ends or the connection is lost. Of a provider that hears of nothing it tells
// nothing.
func (s *Service) Watch(ctx context.Context, name string, ready func(), emit func(reconcile.Key)) error {
	ctx, p, err := s.cfg.Registry.Acquire(ctx, name)
	if err != nil {
		return err
	}
	watcher, ok := p.(provider.Watcher)
	if !ok {
		<-ctx.Done()
		return ctx.Err()
	}
	return watcher.Watch(ctx, ready, func(workload id.ID) {
		emit(row{ID: workload, Provider: name}.key())
	})
}

// Moved delivers a wake whenever a rollout of a workload moves, until stop is
// called. A workload that does not exist is never woken for.
func (s *Service) Moved(ctx context.Context, name string) (<-chan struct{}, func()) {
	wake := make(chan struct{}, 1)
	r, err := s.row(ctx, name)
	if err != nil {
		return wake, func() {}
	}
	moved, stop := s.moves.watch(r.ID)
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-moved:
				select {
				case wake <- struct{}{}:
				default:
				}
			case <-ended:
				return
			}
		}
	}()
	return wake, func() { stop(); close(ended) }
}
