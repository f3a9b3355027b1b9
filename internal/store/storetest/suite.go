package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// Opener opens the store in a directory and closes it with the test. The suite
// closes a store itself before it opens the same directory again.
type Opener func(t testing.TB, dir string) store.Store

// patience bounds every wait of the suite.
const patience = 20 * time.Second

// RunSuite runs every test of the suite, each on a store of its own.
func RunSuite(t *testing.T, open func(t testing.TB, dir string) store.Store) {
	for _, group := range []struct {
		name  string
		tests []test
	}{
		{"Change", changeTests()},
		{"Refusal", refusalTests()},
		{"Domain", domainTests()},
		{"Deletion", deletionTests()},
		{"Supersede", supersedeTests()},
		{"Attempt", attemptTests()},
		{"Release", releaseTests()},
		{"Active", activeTests()},
		{"Trace", traceTests()},
		{"Subnet", subnetTests()},
		{"Address", addressTests()},
		{"Teardown", teardownTests()},
		{"Condition", conditionTests()},
		{"KeptLog", keptLogTests()},
		{"Prune", pruneTests()},
		{"Secret", secretTests()},
		{"Record", recordTests()},
		{"Node", nodeTests()},
		{"Changes", changesTests()},
		{"Life", lifeTests()},
		{"Concurrency", concurrencyTests()},
		{"RoundTrip", roundTripTests()},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, tc := range group.tests {
				t.Run(tc.name, func(t *testing.T) { tc.run(newEnv(t, open)) })
			}
		})
	}
}

// test is one rule.
type test struct {
	name string
	run  func(*env)
}

// env is what a test works with: a store, and how to open it again.
type env struct {
	*testing.T
	s    store.Store
	ctx  context.Context
	dir  string
	open Opener
}

func newEnv(t *testing.T, open Opener) *env {
	e := &env{T: t, dir: t.TempDir(), open: open, ctx: t.Context()}
	e.s = open(t, e.dir)
	return e
}

// reopen closes the store and opens its directory again.
func (e *env) reopen() {
	e.Helper()
	e.ok(e.s.Close())
	e.s = e.open(e.T, e.dir)
}

func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// is checks the kind of a failure, and that its text says more than the kind.
func (e *env) is(err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Fatalf("got error %v, want %v", err, want)
	}
	if len(err.Error()) <= len(want.Error()) {
		e.Errorf("error %q does not say on what", err)
	}
}

// says checks the text of a failure.
func (e *env) says(err error, parts ...string) {
	e.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			e.Errorf("error %q does not say %q", err, p)
		}
	}
}

// must returns the value of a call that may not fail.
func must[T any](e *env) func(T, error) T {
	return func(v T, err error) T {
		e.Helper()
		e.ok(err)
		return v
	}
}

// same compares two values that are printed when they differ.
func same[T comparable](e *env, what string, got, want T) {
	e.Helper()
	if got != want {
		e.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// at is a fixed moment plus some seconds.
func at(seconds int) time.Time {
	return time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC).Add(time.Duration(seconds) * time.Second)
}

// svc is a service to put.
func svc(app, name string, domains ...string) store.DesiredService {
	return store.DesiredService{
		Name: app + "-" + name, AppID: app, Image: "web:1", Replicas: 1,
		Spec: spec.Service{Name: name, Image: "web:1", Domains: domains},
	}
}

// applying is a change that puts services, each as an update.
func applying(app string, put ...store.DesiredService) store.Change {
	c := store.Change{AppID: app, Kind: store.AttemptApply, Now: at(0), Put: put, Actions: map[string]string{}}
	for i := range put {
		c.Actions[put[i].Name] = "update"
	}
	return c
}

// deleting is a change that deletes services by full name.
func deleting(app string, names ...string) store.Change {
	c := store.Change{AppID: app, Kind: store.AttemptDelete, Now: at(0), Delete: names, Actions: map[string]string{}}
	for _, n := range names {
		c.Actions[n] = "delete"
	}
	return c
}

func (e *env) apply(c store.Change) store.Attempt {
	e.Helper()
	a, err := e.s.ApplyChange(e.ctx, c)
	e.ok(err)
	return a
}

func (e *env) applyErr(c store.Change) error {
	e.Helper()
	_, err := e.s.ApplyChange(e.ctx, c)
	if err == nil {
		e.Fatal("the change was accepted")
	}
	return err
}

func (e *env) attempt(id int64) store.Attempt {
	e.Helper()
	return must[store.Attempt](e)(e.s.GetAttempt(e.ctx, id))
}

func (e *env) desired(name string) store.DesiredService {
	e.Helper()
	return *must[*store.DesiredService](e)(e.s.GetDesiredService(e.ctx, name))
}

func (e *env) update(id int64, service string, state store.AttemptState) {
	e.Helper()
	e.ok(e.s.UpdateAttemptService(e.ctx, store.AttemptService{
		AttemptID: id, Service: service, State: state, Reason: "Because", UpdatedAt: at(60),
	}))
}

func (e *env) routes() store.RouteState {
	e.Helper()
	return must[store.RouteState](e)(e.s.Routes(e.ctx))
}

// nothing checks that the store holds no app, service or attempt of app.
func (e *env) nothing(app string) {
	e.Helper()
	if _, err := e.s.GetApp(e.ctx, app); !errors.Is(err, store.ErrNotFound) {
		e.Errorf("app %s is there (%v)", app, err)
	}
	if all := must[[]store.DesiredService](e)(e.s.ListDesiredServices(e.ctx, app)); len(all) > 0 {
		e.Errorf("app %s has services: %v", app, all)
	}
	if all := must[[]store.Attempt](e)(e.s.ListAttempts(e.ctx, app, 0)); len(all) > 0 {
		e.Errorf("app %s has attempts: %v", app, all)
	}
}
