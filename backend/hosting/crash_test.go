package hosting_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/provider/memory"
)

// story is one operation on one lease, and how it ends however often it is cut.
type story struct {
	name   string
	before func(w *world)           // what comes before, without a cut
	call   func(w *world) error     // the request
	taken  error                    // what the request says when it was accepted already
	calls  []backend.CallbackStatus // what it sends
	status backend.ProvisionStatus  // at the end
	image  string                   // that serves then
	last   string                   // status of the last release then
	cuts   int                      // at least
	gives  bool                     // leases that close retain nothing
	finds  bool                     // what was in the volumes before
	left   int                      // sets of volumes that are retained at the end
}

var (
	success       = backend.CallbackStatusSuccess
	failure       = backend.CallbackStatusFailed
	deprovisioned = backend.CallbackStatusDeprovisioned
)

func provision(items []backend.LeaseItem, service string) func(*world) error {
	return func(w *world) error {
		return w.Provision(context.Background(), provisionRequest(leaseIDs[0], items, manifestFor(items, service)))
	}
}

func update(items []backend.LeaseItem, service string) func(*world) error {
	return func(w *world) error {
		return w.Update(context.Background(), backend.UpdateRequest{LeaseUUID: leaseIDs[0], CallbackURL: callbackURL, Payload: manifestFor(items, service)})
	}
}

func restart(w *world) error {
	return w.Restart(context.Background(), backend.RestartRequest{LeaseUUID: leaseIDs[0], CallbackURL: callbackURL})
}

// restored restores to the first lease what the second one left.
func restored(items []backend.LeaseItem) func(*world) error {
	return func(w *world) error {
		return w.Restore(context.Background(), backend.RestoreRequest{
			LeaseUUID: leaseIDs[0], FromLeaseUUID: leaseIDs[1], Tenant: "tenant-a", Items: items, CallbackURL: callbackURL,
		})
	}
}

// leaves has the second lease leave its volumes.
func leaves(items []backend.LeaseItem) func(*world) {
	return func(w *world) {
		after(
			func(w *world) error {
				return w.Provision(context.Background(), provisionRequest(leaseIDs[1], items, manifestFor(items, serves(1))))
			},
			func(w *world) error {
				w.before = w.found(leaseIDs[1])
				return w.Deprovision(context.Background(), leaseIDs[1])
			},
		)(w)
	}
}

// noted remembers what the containers of a lease found.
func noted(lease string, before func(*world)) func(*world) {
	return func(w *world) {
		before(w)
		w.before = w.found(lease)
	}
}

func deprovision(w *world) error { return w.Deprovision(context.Background(), leaseIDs[0]) }

// after makes requests, each come to rest.
func after(calls ...func(*world) error) func(*world) {
	return func(w *world) {
		for _, call := range calls {
			if err := call(w); err != nil {
				w.t.Fatal(err)
			}
			if !w.rest() {
				w.t.Fatal("it does not come to rest")
			}
		}
	}
}

var stories = []story{
	{
		name: "provision", before: after(), call: provision(one(2), serves(1)), taken: backend.ErrAlreadyProvisioned,
		calls: []backend.CallbackStatus{success}, status: ready, image: "program:1", last: backend.ReleaseStatusActive, cuts: 10,
	},
	{
		name: "provision several with depends_on", before: after(), call: provision(three(), serves(1)), taken: backend.ErrAlreadyProvisioned,
		calls: []backend.CallbackStatus{success}, status: ready, image: "program:1", last: backend.ReleaseStatusActive, cuts: 12,
	},
	{
		name: "provision what breaks", before: after(), call: provision(three(), breaks), taken: backend.ErrAlreadyProvisioned,
		calls: []backend.CallbackStatus{failure}, status: failed, last: backend.ReleaseStatusFailed, cuts: 16,
	},
	{
		name: "provision again with other items", before: after(provision(one(2), breaks)), call: provision(three(), serves(1)), taken: backend.ErrAlreadyProvisioned,
		calls: []backend.CallbackStatus{success}, status: ready, image: "program:1", last: backend.ReleaseStatusActive, cuts: 12,
	},
	{
		name: "update", before: after(provision(three(), serves(1))), call: update(three(), serves(2)), taken: backend.ErrInvalidState,
		calls: []backend.CallbackStatus{success}, status: ready, image: "program:1,program:2", last: backend.ReleaseStatusActive, cuts: 12,
	},
	{
		name: "update that breaks", before: after(provision(three(), serves(1))), call: update(three(), breaks), taken: backend.ErrInvalidState,
		calls: []backend.CallbackStatus{failure}, status: ready, image: "program:1", last: backend.ReleaseStatusFailed, cuts: 18,
	},
	{
		name: "restart", before: after(provision(three(), serves(1))), call: restart, taken: backend.ErrInvalidState,
		calls: []backend.CallbackStatus{success}, status: ready, image: "program:1", last: backend.ReleaseStatusActive, cuts: 10,
	},
	{
		name: "deprovision", before: after(provision(three(), serves(1)), update(three(), serves(2))), call: deprovision,
		calls: []backend.CallbackStatus{deprovisioned}, status: none, cuts: 14,
	},
	{
		name: "provision with a disk", before: after(), call: provision(onDisk(one(2)), serves(1)), taken: backend.ErrAlreadyProvisioned,
		calls: []backend.CallbackStatus{success}, status: ready, image: "program:1", last: backend.ReleaseStatusActive, cuts: 14,
	},
	{
		name: "provision what breaks with a disk", before: after(), call: provision(onDisk(three()), breaks), taken: backend.ErrAlreadyProvisioned,
		calls: []backend.CallbackStatus{failure}, status: failed, last: backend.ReleaseStatusFailed, cuts: 26,
	},
	{
		name: "update with a disk", before: noted(leaseIDs[0], after(provision(onDisk(one(2)), serves(1)))), call: update(onDisk(one(2)), serves(2)), taken: backend.ErrInvalidState,
		calls: []backend.CallbackStatus{success}, status: ready, image: "program:2", last: backend.ReleaseStatusActive, cuts: 10, finds: true,
	},
	{
		name: "retain", before: after(provision(onDisk(three()), serves(1))), call: deprovision,
		calls: []backend.CallbackStatus{deprovisioned}, status: none, cuts: 18, left: 1,
	},
	{
		name: "remove", before: after(provision(onDisk(three()), serves(1))), call: deprovision, gives: true,
		calls: []backend.CallbackStatus{deprovisioned}, status: none, cuts: 26,
	},
	{
		name: "restore", before: leaves(onDisk(three())), call: restored(onDisk(three())), taken: backend.ErrAlreadyProvisioned,
		calls: []backend.CallbackStatus{success}, status: ready, image: "program:1", last: backend.ReleaseStatusActive, cuts: 18, finds: true,
	},
	{
		name: "restore what does not come up", before: func(w *world) { leaves(onDisk(three()))(w); w.sicken() }, call: restored(onDisk(three())), taken: backend.ErrAlreadyProvisioned,
		calls: []backend.CallbackStatus{failure}, status: failed, last: backend.ReleaseStatusFailed, cuts: 24, left: 1,
	},
	{
		name: "give up a lease that is being restored", before: func(w *world) {
			leaves(onDisk(three()))(w)
			if err := restored(onDisk(three()))(w); err != nil {
				w.t.Fatal(err)
			}
		}, call: deprovision,
		calls: []backend.CallbackStatus{deprovisioned}, status: none, cuts: 10, left: 1,
	},
	{
		name: "reap", before: func(w *world) {
			w.retention.Grace = time.Hour
			w.open()
			leaves(onDisk(three()))(w)
			w.skip(2 * time.Hour)
		}, call: func(*world) error { return nil },
		status: none, cuts: 6,
	},
}

// cutting arms a cut at a moment, and says afterwards whether it came.
type cutting func(w *world, at int) (struck func() bool)

// byCall cuts before and after each write of the hosting, each call of its provider
// and each callback handed on: the process is killed there, or the call fails once.
func byCall(dies bool) cutting {
	return func(w *world, at int) func() bool {
		came := false
		w.onMoments(func(n int, _ string) (error, bool) {
			if n != at {
				return nil, false
			}
			came = true
			return errKilled, dies
		})
		return func() bool { return came }
	}
}

// inProvider cuts before or after each effect of the provider itself, and kills the
// process with it.
func inProvider(kind memory.FaultKind) cutting {
	return func(w *world, at int) func() bool {
		disarm := w.cluster.Script(memory.Fault{Call: at, Kind: kind})
		w.cuts = true
		return disarm
	}
}

func TestACutAnywhereLosesAndDoublesNothing(t *testing.T) {
	for name, cut := range map[string]cutting{
		"killed": byCall(true), "a call fails": byCall(false),
		"cut off before": inProvider(memory.CutBefore), "cut off after": inProvider(memory.CutAfter),
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range stories {
				t.Run(s.name, func(t *testing.T) {
					cuts := 0
					for at := 1; ; at += cutStride {
						came := false
						synctest.Test(t, func(t *testing.T) { came = s.tell(t, cut, at) })
						if !came || t.Failed() {
							break
						}
						cuts++
					}
					t.Logf("%d cut points", cuts)
					if min := s.cuts / cutStride; strings.HasPrefix(name, "cut off") {
						min = 1
						if cuts < min && s.name != "restart" {
							t.Errorf("there are %d cut points only", cuts)
						}
					} else if cuts < min {
						t.Errorf("there are %d cut points only", cuts)
					}
				})
			}
		})
	}
}

// tell has the story end, cut at a moment, and reports whether that came.
func (s story) tell(t *testing.T, cut cutting, at int) bool {
	w := newWorld(t)
	if s.gives {
		w.retention.OnClose = false
		w.open()
	}
	s.before(w)
	sent := len(w.sent(leaseIDs[0]))
	struck := cut(w, at)
	for {
		err := s.call(w)
		if err == nil || s.taken != nil && errors.Is(err, s.taken) {
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatalf("cut at %d: %v", at, err)
		}
		w.revive()
	}
	if !w.rest() {
		row, _ := w.store.Get(context.Background(), "leases/"+leaseIDs[0])
		t.Fatalf("cut at %d it does not come to rest: %s", at, row.Value)
	}
	came := struck()
	w.onMoments(nil)
	s.check(t, w, at, sent)
	w.heal()
	after(deprovision)(w)
	w.checkRest(t, leaseIDs[0])
	w.giveAllUp(t)
	if keys := w.left(); len(keys) > 0 {
		t.Errorf("cut at %d left in the store is %q", at, keys)
	}
	return came
}

// short is images without their registry.
func short(images string) string { return strings.ReplaceAll(images, "docker.io/library/", "") }

func (s story) check(t *testing.T, w *world, at, sent int) {
	t.Helper()
	w.checkRest(t, leaseIDs[0])
	if got := w.sent(leaseIDs[0])[sent:]; !slices.Equal(got, s.calls) {
		t.Errorf("cut at %d it sent %v; want %v", at, got, s.calls)
	}
	if got := w.status(leaseIDs[0]); got != s.status {
		t.Errorf("cut at %d it is %q; want %q", at, got, s.status)
	}
	if all, err := w.ListRetentions(context.Background()); err != nil || len(all) != s.left {
		t.Errorf("cut at %d there are retained %v, %v; want %d", at, all, err, s.left)
	}
	if s.status == none {
		return
	}
	if got := w.found(leaseIDs[0]); s.finds && (len(got) == 0 || !reflect.DeepEqual(got, w.before)) {
		t.Errorf("cut at %d it finds %v; want %v", at, got, w.before)
	}
	all, err := w.GetReleases(context.Background(), leaseIDs[0])
	if err != nil {
		t.Fatal(err)
	}
	image := ""
	for _, rel := range all {
		if rel.Status == backend.ReleaseStatusActive {
			image += short(rel.Image)
		}
	}
	if last := all[len(all)-1]; image != s.image || last.Status != s.last {
		t.Errorf("cut at %d there serves %q, and the last release is %q; want %q and %q", at, image, last.Status, s.image, s.last)
	}
}
