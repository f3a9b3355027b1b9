package hosting_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/resolvable"
	"github.com/berth-cloud/berth/provider"
)

// A clock that is put back by hours, while something is waited for, has nobody wait
// for hours.
func TestAClockThatIsPutBackHoldsNothingUp(t *testing.T) {
	const hours = 5 * time.Hour
	a := leaseIDs[0]
	within := func(t *testing.T, w *world, most time.Duration, what string, cond func() bool) {
		t.Helper()
		began := time.Now()
		if !w.wait(cond) || time.Since(began) > most {
			t.Errorf("%s: it took %s, and is %s", what, time.Since(began), w.status(a))
		}
	}
	for what, test := range map[string]func(*testing.T, *world){
		"a lease leaves, and no data plane answers": func(t *testing.T, w *world) {
			w.provisioned(a)
			w.plane.set(func(p *plane) { p.down = true })
			if err := w.Deprovision(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			_, _ = w.Step(t.Context(), a)
			w.skip(-hours)
			within(t, w, 30*time.Second, "it is gone", func() bool { return w.status(a) == none })
		},
		"a lease does not come up": func(t *testing.T, w *world) {
			g := &gate{}
			g.fails.Store(true)
			w.guard = g
			w.open()
			w.accepted()
			w.skip(-hours)
			within(t, w, 30*time.Second, "it fails", func() bool { return w.status(guardedLease) == failed })
		},
		"a restart is not done": func(t *testing.T, w *world) {
			g := &gate{}
			w.guard = g
			w.open()
			w.provisioned(a)
			g.fails.Store(true)
			if err := w.Restart(t.Context(), backend.RestartRequest{LeaseUUID: a, CallbackURL: callbackURL}); err != nil {
				t.Fatal(err)
			}
			_, _ = w.Step(t.Context(), a)
			w.skip(-hours)
			within(t, w, 2*time.Minute, "it is over", func() bool { return w.status(a) == failed })
		},
		"a domain does not resolve": func(t *testing.T, w *world) {
			w.provisioned(a)
			w.plane.set(func(p *plane) { p.dns[shop] = resolvable.ErrNoAddress })
			w.wants(a, shop)
			w.until("asked", func() bool { return w.why(a) != "" })
			w.skip(-hours)
			w.plane.set(func(p *plane) { p.dns[shop] = nil })
			within(t, w, time.Minute, "it is served", func() bool { return w.domain(a) == shop })
		},
		"volumes could not be removed": func(t *testing.T, w *world) {
			w.retention = hosting.Retention{}
			w.open()
			if err := w.Provision(t.Context(), provisionRequest(a, onDisk(one(1)), alone(serves(1)))); err != nil {
				t.Fatal(err)
			}
			w.until("ready", func() bool { return w.rest() && w.status(a) == ready })
			w.stuck = provider.ErrInvalid
			if err := w.Deprovision(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			w.until("tried", func() bool { return w.Tried(a) > 0 })
			w.skip(-hours)
			w.stuck = nil
			within(t, w, 10*time.Second, "it is gone", func() bool { return w.status(a) == none })
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.ask = 100 * time.Millisecond
				w.open()
				test(t, w)
			})
		})
	}
}

// What a lease left last is what its clock does not say.
func TestWhatALeaseLeftLastIsRestoredWhateverTheClockSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := leaseIDs[0], leaseIDs[1]
		left := map[string]string{}
		for _, life := range []string{"first", "last"} {
			if err := w.Provision(t.Context(), provisionRequest(a, onDisk(one(1)), alone(serves(1)))); err != nil {
				t.Fatal(err)
			}
			w.until("ready", func() bool { return w.rest() && w.status(a) == ready })
			left[life] = w.found(a)["app/0"]
			if err := w.Deprovision(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			w.until("gone", func() bool { return w.rest() && w.status(a) == none })
			w.skip(-5 * time.Hour)
		}
		w.open()
		if err := w.Restore(t.Context(), backend.RestoreRequest{LeaseUUID: b, FromLeaseUUID: a, Tenant: "tenant-a", Items: onDisk(one(1)), CallbackURL: callbackURL}); err != nil {
			t.Fatal(err)
		}
		w.until("restored", func() bool { return w.rest() && w.status(b) == ready })
		if got := w.found(b)["app/0"]; got != left["last"] || got == left["first"] {
			t.Errorf("it finds %q; was left %v", got, left)
		}
	})
}
