package hosting_test

import (
	"context"
	"errors"
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

func (w *world) status(lease string) backend.ProvisionStatus {
	info, err := w.GetProvision(context.Background(), lease)
	if errors.Is(err, backend.ErrNotProvisioned) {
		return none
	}
	if err != nil {
		w.t.Error(err)
		return none
	}
	return info.Status
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
	held := map[string][]pool.Instance{}
	for _, h := range w.pool.Facts().Holdings {
		held[h.Lease] = h.Instances
	}
	if want := w.Held(); !reflect.DeepEqual(held, want) {
		t.Errorf("the pool has %v; the rows %v", held, want)
	}
	w.checkProvider(t, leases)
	w.checkStore(t)
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

func (w *world) checkStore(t interface{ Errorf(string, ...any) }) {
	keys, _ := w.store.List(context.Background(), "")
	for _, key := range keys {
		lease, _, _ := strings.Cut(key[strings.IndexByte(key, '/')+1:], "/")
		if w.status(lease) == none {
			t.Errorf("left in the store is %s", key)
		}
	}
}
