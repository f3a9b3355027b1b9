package apitest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite"
)

// Outcome is how changes of a service end.
type Outcome struct {
	Fail    bool
	Reason  string
	Message string
	// Hold leaves the change where it is until the outcome is set again.
	Hold bool
}

// Paper plays the controllers: it takes open attempts from step to step, one
// service after the other, a tenth of a second of made-up time each.
type Paper struct {
	store *sqlite.Store
	wake  chan struct{}

	mu       sync.Mutex
	outcomes map[string]Outcome // by full service name
}

func newPaper(s *sqlite.Store) *Paper {
	return &Paper{store: s, wake: make(chan struct{}, 1), outcomes: map[string]Outcome{}}
}

// Set says how changes of a service end from now on.
func (p *Paper) Set(service string, o Outcome) {
	p.mu.Lock()
	p.outcomes[service] = o
	p.mu.Unlock()
	p.poke()
}

func (p *Paper) outcome(service string) Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.outcomes[service]
}

func (p *Paper) poke() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *Paper) run(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { _ = p.store.Changes(ctx, func(store.ChangeNote) { p.poke() }) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
			if err := p.pass(ctx); err != nil && ctx.Err() == nil {
				panic(fmt.Sprintf("the played rollout failed: %v", err))
			}
		}
	}
}

// pass carries out what is open and not held.
func (p *Paper) pass(ctx context.Context) error {
	apps, err := p.store.ListApps(ctx)
	if err != nil {
		return err
	}
	for _, app := range apps {
		attempts, err := p.store.ListAttempts(ctx, app.Name, 10)
		if err != nil {
			return err
		}
		for _, a := range attempts {
			if err := p.attempt(ctx, a); err != nil {
				return err
			}
		}
		if app.Deleting {
			if err := p.store.DeleteApp(ctx, app.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Paper) attempt(ctx context.Context, a store.Attempt) error {
	for i, s := range a.Services {
		o := p.outcome(s.Service)
		if s.State.Final() || o.Hold {
			continue
		}
		r := &rollout{store: p.store, part: s, app: a.AppID, at: a.CreatedAt.Add(time.Duration(i) * time.Second)}
		var err error
		switch {
		case s.Action == "delete":
			err = r.remove(ctx)
		case o.Fail:
			err = r.fail(ctx, o)
		default:
			err = r.replace(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// rollout is one service of one attempt.
type rollout struct {
	store *sqlite.Store
	part  store.AttemptService
	app   string
	at    time.Time
}

// step records one step.
func (r *rollout) step(ctx context.Context, phase, status, message string) error {
	r.at = r.at.Add(100 * time.Millisecond)
	return r.store.AppendTrace(ctx, store.TraceEvent{
		AttemptID: r.part.AttemptID, Service: r.part.Service, Time: r.at, Phase: phase, Status: status, Message: message,
	})
}

func (r *rollout) finish(ctx context.Context, state store.AttemptState, reason, message string) error {
	r.part.State, r.part.Reason, r.part.Message, r.part.UpdatedAt = state, reason, message, r.at
	return r.store.UpdateAttemptService(ctx, r.part)
}

func (r *rollout) ready(ctx context.Context, status reconcile.ConditionStatus, reason, message string) error {
	key := reconcile.Key{Kind: "application", Name: r.part.Service}.String()
	return r.store.UpsertConditions(ctx, key, []reconcile.Condition{{
		Type: reconcile.ConditionReady, Status: status, Reason: reason, Message: message, LastTransitionTime: r.at,
	}})
}

func (r *rollout) remove(ctx context.Context) error {
	if err := r.step(ctx, "remove", "passed", ""); err != nil {
		return err
	}
	if _, err := r.store.DeleteActiveRelease(ctx, r.part.Service); err != nil {
		return err
	}
	if err := r.store.DeletePendingTeardown(ctx, r.part.Service); err != nil {
		return err
	}
	if err := r.store.DeleteConditions(ctx, reconcile.Key{Kind: "application", Name: r.part.Service}.String()); err != nil {
		return err
	}
	return r.finish(ctx, store.AttemptSucceeded, "Removed", "")
}

func (r *rollout) fail(ctx context.Context, o Outcome) error {
	if err := r.step(ctx, "start", "passed", ""); err != nil {
		return err
	}
	if err := r.step(ctx, "failed", "failed", o.Reason); err != nil {
		return err
	}
	active, err := r.store.GetActiveRelease(ctx, r.part.Service)
	status := reconcile.False
	if err == nil && active.ReleaseID != "" {
		status = reconcile.True
	}
	if err := r.ready(ctx, status, o.Reason, o.Message); err != nil {
		return err
	}
	return r.finish(ctx, store.AttemptFailed, o.Reason, o.Message)
}

func (r *rollout) replace(ctx context.Context) error {
	d, err := r.store.GetDesiredService(ctx, r.part.Service)
	if err != nil {
		return err
	}
	release, err := r.release(ctx, d)
	if err != nil {
		return err
	}
	r.part.ReleaseID = release.ID
	for _, s := range [][3]string{
		{"resolve", "passed", release.Resolved}, {"create", "passed", ""}, {"start", "passed", ""},
		{"probe", "started", ""}, {"cutover", "passed", ""}, {"drain", "started", ""}, {"done", "passed", ""},
	} {
		if err := r.step(ctx, s[0], s[1], s[2]); err != nil {
			return err
		}
	}
	active := store.ActiveRelease{
		Service: d.Name, AppID: d.AppID, ReleaseID: release.ID, Since: r.at,
		Route: store.ActiveRoute{Hosts: d.Spec.Domains, Path: d.Spec.Path},
	}
	if before, err := r.store.GetActiveRelease(ctx, d.Name); err == nil && before.ReleaseID != release.ID {
		active.PreviousID = before.ReleaseID
	}
	for i := range d.Replicas {
		active.Targets = append(active.Targets, store.ActiveTarget{
			Container: fmt.Sprintf("%s-%s-%d", d.Name, release.Nonce, i), Replica: i,
			Address: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 210, 0, byte(10 + i)}), uint16(d.Spec.Port)),
		})
	}
	if _, err := r.store.SetActiveRelease(ctx, active); err != nil {
		return err
	}
	if err := r.ready(ctx, reconcile.True, "Ready", ""); err != nil {
		return err
	}
	return r.finish(ctx, store.AttemptSucceeded, "Ready", "")
}

func (r *rollout) release(ctx context.Context, d *store.DesiredService) (store.Release, error) {
	if d.ReleaseID != "" {
		return r.store.GetRelease(ctx, d.ReleaseID)
	}
	// Whatever version a secret has: the vault is not asked.
	asked := d.Spec.WithSecretVersions(func(spec.SecretRef) int64 { return 1 })
	hash := asked.Hash()
	nonce := hash[:12]
	if d.RestartNonce != "" {
		nonce += "." + d.RestartNonce
	}
	return r.store.CreateRelease(ctx, store.Release{
		Service: d.Name, AppID: d.AppID, Image: d.Image, Spec: asked, SpecHash: hash, RestartNonce: d.RestartNonce, Nonce: nonce,
		Resolved:  fmt.Sprintf("%s@sha256:%x", d.Image, sha256.Sum256([]byte(d.Image)))[:len(d.Image)+20],
		AttemptID: r.part.AttemptID, CreatedAt: r.at,
	})
}
