package hosting_test

import (
	"context"
	"errors"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
)

// The record alone says who may have what is retained, whatever the pool says.
func TestWhatIsRetainedIsClaimedOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.closed(t, leaseIDs[1])
		look := w.LookAt(leaseIDs[1])
		if err := w.Claim(look, leaseIDs[0]); err != nil {
			t.Fatal(err)
		}
		if err := w.Claim(look, leaseIDs[0]); err != nil {
			t.Errorf("again it says %v", err)
		}
		if err := w.Claim(look, leaseIDs[2]); !errors.Is(err, backend.ErrInvalidState) {
			t.Errorf("a second lease is told %v", err)
		}
		if err := w.GiveBack(look, leaseIDs[2]); err != nil || !w.Claimed(leaseIDs[1]) {
			t.Errorf("whoever has it not gives it back: %v", err)
		}
		if err := w.GiveBack(look, leaseIDs[0]); err != nil || w.Claimed(leaseIDs[1]) {
			t.Errorf("it is not given back: %v", err)
		}
		if err := w.Claim(look, leaseIDs[2]); !errors.Is(err, backend.ErrInvalidState) {
			t.Errorf("by an old look it is claimed: %v", err)
		}
		if err := w.Claim(w.LookAt(leaseIDs[1]), leaseIDs[2]); err != nil {
			t.Errorf("by a new look it is not: %v", err)
		}
	})
}

func TestOnlyWhatIsGivenUpIsRemoved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(onDisk(one(2)), serves(1)))(w)
		w.closed(t, leaseIDs[1])
		if got := w.EmptyAll(); got != 2 {
			t.Errorf("%d of 2 sets were refused", got)
		}
		if got := w.cluster.KeptVolumes(); len(got) != 3 {
			t.Errorf("there are %v", got)
		}
	})
}

func TestVolumesOfAnotherLeaseAreNotMounted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(onDisk(one(1)), serves(1)), func(w *world) error {
			return w.Provision(context.Background(), provisionRequest(leaseIDs[1], onDisk(one(1)), alone(serves(1))))
		}, update(onDisk(one(1)), serves(1)))(w)
		if err := w.Mounts(leaseIDs[0], leaseIDs[0], "app", "/data"); err != nil {
			t.Errorf("its own: %v", err)
		}
		if err := w.Mounts(leaseIDs[0], leaseIDs[1], "app", "/data"); !errors.Is(err, hosting.ErrNotOwner) {
			t.Errorf("another's: %v", err)
		}
	})
}

// A restore of which the row cannot be written gives back at once what it took.
func TestARestoreThatIsNotWrittenTakesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.closed(t, leaseIDs[1])
		for _, what := range []string{"before put leases/" + leaseIDs[0], "before put manifests/" + leaseIDs[0] + "/00000001", "after put volumes/" + w.Volumes().First()} {
			once := false
			w.onMoments(func(_ int, moment string) (error, bool) {
				if moment == what && !once {
					once = true
					return errKilled, false
				}
				return nil, false
			})
			if err := w.Restore(context.Background(), restoreRequest(leaseIDs[0], leaseIDs[1], disk)); !errors.Is(err, errKilled) {
				t.Errorf("%s: it says %v", what, err)
			}
			if w.Claimed(leaseIDs[1]) || w.pool.Stats().ActiveContainers != 0 {
				t.Errorf("%s: it is claimed", what)
			}
			w.onMoments(nil)
			if err := w.Restore(context.Background(), restoreRequest(leaseIDs[2], leaseIDs[1], disk)); err != nil {
				t.Fatalf("%s: another lease is told %v", what, err)
			}
			if err := w.Deprovision(context.Background(), leaseIDs[2]); err != nil || !w.rest() {
				t.Fatal(err)
			}
			w.checkRest(t, leaseIDs...)
		}
	})
}
