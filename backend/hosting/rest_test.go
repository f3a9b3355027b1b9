package hosting_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/pool"
)

// rest makes steps until nothing is left to do.
func (w *world) rest() bool {
	return w.wait(func() bool {
		w.revive()
		waiting, _ := w.out.Pending(context.Background())
		return !w.Busy() && len(waiting) == 0
	})
}

// status is that of a lease that is there; what is left of it otherwise counts not.
func (w *world) status(lease string) backend.ProvisionStatus {
	all, err := w.LookupProvisions(context.Background(), []string{lease})
	if err != nil {
		w.t.Error(err)
	}
	if len(all) == 0 {
		return none
	}
	return all[0].Status
}

// left is what the store has, but for why leases failed.
func (w *world) left() []string {
	keys, _ := w.store.List(context.Background(), "")
	return slices.DeleteFunc(keys, func(key string) bool { return strings.HasPrefix(key, "diagnostics/") })
}

func (w *world) sent(lease string) []backend.CallbackStatus {
	var out []backend.CallbackStatus
	for _, p := range w.calls.Of(lease) {
		out = append(out, p.Status)
	}
	return out
}

// checkRest holds everything that should be so at rest: the callbacks are those of the
// transitions, the pool has what the rows say, and at the provider and in the store is
// what belongs to a lease and nothing else.
func (w *world) checkRest(t interface{ Errorf(string, ...any) }, leases ...string) {
	for _, lease := range leases {
		if got, want := w.sent(lease), w.past.of(lease); !slices.Equal(got, want) {
			t.Errorf("lease %s sent %v; want %v", lease, got, want)
		}
	}
	if wrong := w.past.faults(); len(wrong) > 0 {
		t.Errorf("%s", strings.Join(wrong, "\n"))
	}
	w.checkPool(t)
	w.checkProvider(t, leases)
	w.checkStore(t)
}

// checkPool holds what is counted against what the rows and the records of volumes say.
func (w *world) checkPool(t interface{ Errorf(string, ...any) }) {
	held := map[string][]pool.Instance{}
	for _, h := range w.pool.Facts().Holdings {
		held[h.Lease] = h.Instances
	}
	want := w.Held()
	for _, all := range []map[string][]pool.Instance{held, want} { // nothing of something is nothing
		maps.DeleteFunc(all, func(_ string, held []pool.Instance) bool { return len(held) == 0 })
	}
	if !reflect.DeepEqual(held, want) {
		t.Errorf("the pool has %v; the rows %v", held, want)
	}
	kept := map[string]int64{}
	for _, r := range w.pool.Facts().Retained {
		kept[r.Lease] = r.DiskMB
	}
	if want := w.LeftMB(); !reflect.DeepEqual(kept, want) {
		t.Errorf("the pool has retained %v; the records %v", kept, want)
	}
}

func (w *world) checkProvider(t interface{ Errorf(string, ...any) }, leases []string) {
	mine := map[string]bool{}
	for _, lease := range leases {
		for _, instance := range w.Workloads(lease) {
			mine[instance.String()] = true
		}
	}
	keys, _ := w.records.List(context.Background(), "")
	for _, key := range keys {
		if !mine[key[strings.LastIndexByte(key, '/')+1:]] {
			t.Errorf("left at the provider is %s", key)
		}
	}
	for _, instance := range w.past.everSeen() {
		if left := w.cluster.Leftovers(instance); !mine[instance.String()] && len(left) > 0 {
			t.Errorf("left at the provider is %q", left)
		}
	}
}

// checkStore finds what belongs to nobody: the records of volumes to a lease or to who left
// them, and the volumes to their records.
func (w *world) checkStore(t interface{ Errorf(string, ...any) }) {
	known := w.Volumes()
	for _, key := range w.left() {
		of, rest, _ := strings.Cut(key, "/")
		name, _, _ := strings.Cut(rest, "/")
		switch of {
		case "volumes", "retained":
			if !known.Has(name, of == "retained") {
				t.Errorf("left in the store is %s", key)
			}
		default:
			if w.status(name) == none {
				t.Errorf("left in the store is %s", key)
			}
		}
	}
	for _, volume := range w.cluster.KeptVolumes() {
		if !known.Names(volume) {
			t.Errorf("nobody has volume %s", volume)
		}
	}
}
