package hosting_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/berth-cloud/berth/backend"
)

// verbs are all calls for a lease.
var verbs = map[string]func(w *world, ctx context.Context) error{
	"provision": func(w *world, ctx context.Context) error {
		return w.Provision(ctx, provisionRequest(leaseIDs[0], three(), chain(serves(1), serves(1))))
	},
	"provision another": func(w *world, ctx context.Context) error {
		return w.Provision(ctx, provisionRequest(leaseIDs[0], one(2), alone(serves(2))))
	},
	"restart": func(w *world, ctx context.Context) error {
		return w.Restart(ctx, backend.RestartRequest{LeaseUUID: leaseIDs[0], CallbackURL: callbackURL})
	},
	"update": func(w *world, ctx context.Context) error {
		return w.Update(ctx, backend.UpdateRequest{LeaseUUID: leaseIDs[0], CallbackURL: callbackURL, Payload: chain(serves(2), serves(2))})
	},
	"deprovision": func(w *world, ctx context.Context) error { return w.Deprovision(ctx, leaseIDs[0]) },
	"domain": func(w *world, ctx context.Context) error {
		items := three()
		items[0].CustomDomain = "a.example.org"
		return w.ReconcileCustomDomain(ctx, leaseIDs[0], items)
	},
	"read": func(w *world, ctx context.Context) error {
		_, err := w.GetInfo(ctx, leaseIDs[0])
		_, err2 := w.GetReleases(ctx, leaseIDs[0])
		_, err3 := w.GetLogs(ctx, leaseIDs[0], 10)
		_, err4 := w.ListProvisions(ctx)
		_, err5 := w.LookupProvisions(ctx, leaseIDs[:1])
		return errors.Join(err, err2, err3, err4, err5, w.RefreshState(ctx))
	},
	"step": func(w *world, ctx context.Context) error {
		_, err := w.Step(ctx, leaseIDs[0])
		return err
	},
}

// refusals are what a call may say of a lease that another call has changed.
var refusals = []error{backend.ErrAlreadyProvisioned, backend.ErrInvalidState, backend.ErrNotProvisioned, backend.ErrInvalidManifest}

func refusal(err error) bool {
	return slices.ContainsFunc(refusals, func(kind error) bool { return errors.Is(err, kind) })
}

// beginnings are the states from which pairs of calls start.
var beginnings = map[string]func(w *world){
	"none":         func(*world) {},
	"provisioning": func(w *world) { must(w, "provision") },
	"ready":        func(w *world) { after(provision(three(), serves(1)))(w) },
	"failed":       func(w *world) { after(provision(three(), breaks))(w) },
	"updating": func(w *world) {
		after(provision(three(), serves(1)))(w)
		must(w, "update")
	},
	"deprovisioning": func(w *world) {
		after(provision(three(), serves(1)))(w)
		must(w, "deprovision")
	},
}

func must(w *world, verb string) {
	if err := verbs[verb](w, context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

func TestTwoCallsAtOnceWithSteps(t *testing.T) {
	pairs := 0
	for begins, begin := range beginnings {
		for a := range verbs {
			for b := range verbs {
				if a > b {
					continue
				}
				pairs++
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					begin(w)
					w.atOnce(t, fmt.Sprintf("%s and %s at a lease that is %s", a, b, begins), a, b)
				})
			}
		}
	}
	t.Logf("%d pairs", pairs)
}

// atOnce has calls run at the same time as Steps, and holds what comes of it.
func (w *world) atOnce(t *testing.T, what string, calls ...string) {
	t.Helper()
	var all sync.WaitGroup
	for _, call := range calls {
		all.Go(func() {
			if err := verbs[call](w, context.Background()); err != nil && !refusal(err) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	all.Go(func() {
		for range 5 {
			_, _ = w.Step(context.Background(), leaseIDs[0])
		}
	})
	all.Wait()
	if !w.rest() {
		t.Fatalf("%s: it does not come to rest", what)
	}
	w.checkRest(t, leaseIDs[0])
	if t.Failed() {
		t.Fatal(what)
	}
}

func TestTwentyLeasesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var leases []string
		for range 20 {
			leases = append(leases, uuid.NewString())
		}
		each := func(call func(lease string) error) {
			var all sync.WaitGroup
			for _, lease := range leases {
				all.Go(func() {
					if err := call(lease); err != nil {
						t.Error(err)
					}
					for range 5 {
						_, _ = w.Step(context.Background(), lease)
					}
				})
			}
			all.Wait()
			if !w.rest() {
				t.Fatal("it does not come to rest")
			}
			w.checkRest(t, leases...)
		}
		each(func(lease string) error {
			return w.Provision(context.Background(), provisionRequest(lease, one(1), alone(serves(1))))
		})
		for _, lease := range leases {
			if got := w.status(lease); got != ready {
				t.Errorf("a lease is %q", got)
			}
		}
		if got := w.pool.Stats().ActiveContainers; got != 20 {
			t.Errorf("%d containers are counted", got)
		}
		each(func(lease string) error { return w.Deprovision(context.Background(), lease) })
		if keys := w.left(); len(keys) > 0 {
			t.Errorf("left in the store is %q", keys)
		}
	})
}

// A call whose context has ended, or ends in any of its writes, leaves a lease that
// comes to rest, and what it holds counted.
func TestEveryCallMayBeCancelled(t *testing.T) {
	for begins, begin := range beginnings {
		for verb, call := range verbs {
			for at := 0; at < 6; at++ { // 0 is before the call
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					begin(w)
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					if at == 0 {
						cancel()
					}
					w.onMoments(func(n int, _ string) (error, bool) {
						if n == at {
							cancel()
							return context.Canceled, false
						}
						return nil, false
					})
					err := call(w, ctx)
					w.onMoments(nil)
					if err != nil && !errors.Is(err, context.Canceled) && !refusal(err) {
						t.Errorf("%s, cancelled at %d: %v", verb, at, err)
					}
					if !w.rest() {
						t.Fatalf("%s of a lease that is %s, cancelled at %d: it does not come to rest", verb, begins, at)
					}
					w.checkRest(t, leaseIDs[0])
					if t.Failed() {
						t.Fatalf("%s of a lease that is %s, cancelled at %d", verb, begins, at)
					}
				})
			}
		}
	}
}

// A Deprovision in each moment of each Step of each operation: what it overtakes sends
// nothing, and nothing is left.
func TestADeprovisionInEveryMoment(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			moments := 0
			for at := 1; ; at += cutStride {
				came := false
				synctest.Test(t, func(t *testing.T) { came = s.overtaken(t, at) })
				if !came || t.Failed() {
					break
				}
				moments++
			}
			t.Logf("%d moments", moments)
			if moments < s.cuts/cutStride {
				t.Errorf("there are %d moments only", moments)
			}
		})
	}
}

func (s story) overtaken(t *testing.T, at int) bool {
	w := newWorld(t)
	if s.gives {
		w.retention.OnClose = false
		w.open()
	}
	s.before(w)
	came, done := false, make(chan error, 1)
	w.onMoments(func(n int, _ string) (error, bool) {
		if n == at {
			came = true
			go func() { done <- w.Deprovision(context.Background(), leaseIDs[0]) }()
			synctest.Wait()
		}
		return nil, false
	})
	if err := s.call(w); err != nil {
		t.Fatal(err)
	}
	w.rest()
	if !came {
		return false
	}
	if err := <-done; err != nil {
		t.Fatalf("at %d: %v", at, err)
	}
	if !w.rest() {
		t.Fatalf("at %d it does not come to rest", at)
	}
	w.checkRest(t, leaseIDs[0])
	if got := w.status(leaseIDs[0]); got != none {
		t.Errorf("at %d it is %q", at, got)
	}
	w.heal()
	w.giveAllUp(w.t)
	if keys := w.left(); len(keys) > 0 {
		t.Errorf("at %d left in the store is %q", at, keys)
	}
	return true
}

// A provider that does not answer holds up a Step for a while, and no request.
func TestAProviderThatHangsIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		after(provision(three(), serves(1)))(w)
		w.hangs = make(chan struct{})
		began := time.Now()
		stepped := make(chan error, 1)
		go func() {
			_, err := w.Step(context.Background(), leaseIDs[0])
			stepped <- err
		}()
		synctest.Wait()
		if _, err := w.GetProvision(context.Background(), leaseIDs[0]); err != nil {
			t.Error(err)
		}
		if err := <-stepped; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the Step says %v", err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("it took %v", took)
		}
		go func() {
			_, err := w.Step(context.Background(), leaseIDs[0])
			stepped <- err
		}()
		synctest.Wait()
		began = time.Now()
		must(w, "deprovision")
		if err := <-stepped; err != nil {
			t.Errorf("the Step that was overtaken says %v", err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the Deprovision and the end of the Step took %v", took)
		}
		w.hangs = nil
		if !w.rest() || w.status(leaseIDs[0]) != none {
			t.Errorf("it is %q", w.status(leaseIDs[0]))
		}
		w.checkRest(t, leaseIDs[0])
	})
}
