package hosting_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

// closed has leases of one instance with a disk leave their volumes, one after the other.
func (w *world) closed(t *testing.T, leases ...string) {
	t.Helper()
	for _, lease := range leases {
		after(
			func(w *world) error {
				return w.Provision(context.Background(), provisionRequest(lease, onDisk(one(1)), alone(serves(1))))
			},
			func(w *world) error { return w.Deprovision(context.Background(), lease) },
		)(w)
		w.skip(time.Minute)
	}
}

func (w *world) retained(t *testing.T) []string {
	t.Helper()
	all, err := w.ListRetentions(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = one.LeaseUUID
	}
	slices.Sort(out)
	return out
}

// What is retained and what is pushed out, by the caps. Each lease has 64 MB.
func TestCapsOfWhatIsRetained(t *testing.T) {
	a, b, c := leaseIDs[0], leaseIDs[1], leaseIDs[2]
	for name, tc := range map[string]struct {
		caps hosting.Retention
		want []string
	}{
		"none":                                  {hosting.Retention{OnClose: true}, []string{a, b, c}},
		"not at all":                            {hosting.Retention{}, []string{}},
		"the oldest goes":                       {hosting.Retention{OnClose: true, MaxPerTenant: 2}, []string{b, c}},
		"one":                                   {hosting.Retention{OnClose: true, MaxPerTenant: 1}, []string{c}},
		"beyond the tenant's disk":              {hosting.Retention{OnClose: true, MaxTenantMB: 128}, []string{a, b}},
		"beyond all disk":                       {hosting.Retention{OnClose: true, MaxTotalMB: 127}, []string{a}},
		"the oldest makes room":                 {hosting.Retention{OnClose: true, MaxPerTenant: 2, MaxTotalMB: 128}, []string{b, c}},
		"nothing goes for what is not retained": {hosting.Retention{OnClose: true, MaxPerTenant: 1, MaxTotalMB: 63}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.retention = tc.caps
				w.open()
				w.closed(t, a, b, c)
				if got := w.retained(t); !slices.Equal(got, tc.want) {
					t.Errorf("retained are %v; want %v", got, tc.want)
				}
				for _, lease := range []string{a, b, c} {
					all := w.calls.Of(lease)
					if last := all[len(all)-1]; last.Status != deprovisioned || last.Retained != (tc.caps.OnClose && (slices.Contains(tc.want, lease) || tc.caps.MaxPerTenant > 0 && tc.caps.MaxTotalMB != 63)) {
						t.Errorf("of lease %s the last callback is %+v", lease, last)
					}
				}
				w.checkRest(t, a, b, c)
				if got, want := len(w.cluster.KeptVolumes()), len(tc.want); got != want {
					t.Errorf("there are %d volumes; want %d", got, want)
				}
				if got, want := w.pool.Stats().RetainedDiskMB, int64(64*len(tc.want)); got != want {
					t.Errorf("%d MB are counted; want %d", got, want)
				}
				w.open()
				if got, want := w.pool.Stats().Allocated.DiskMB, int64(64*len(tc.want)); got != want {
					t.Errorf("after a start %d MB are counted; want %d", got, want)
				}
			})
		})
	}
}

func TestWhatIsRetainedIsGivenUpInTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.retention.Grace = 90 * time.Minute
		w.open()
		w.closed(t, leaseIDs[0])
		info, err := w.GetProvision(context.Background(), leaseIDs[0])
		if err != nil || info.Status != backend.ProvisionStatusRetained || info.Tenant != "tenant-a" || info.Quantity != 1 || short(info.Image) != "program:1" {
			t.Fatalf("it is %+v, %v", info, err)
		}
		left := info.RetainedUntil.Sub(w.now())
		if left <= 80*time.Minute || left > 90*time.Minute {
			t.Errorf("it is retained for %v more", left)
		}
		for _, c := range []struct{ skip, again time.Duration }{{0, time.Hour}, {left - time.Second, time.Second}} {
			w.skip(c.skip)
			again, err := w.Step(context.Background(), hosting.Reaper)
			if err != nil || again > c.again || again <= 0 {
				t.Errorf("the reaper comes again in %v, %v; want %v", again, err, c.again)
			}
		}
		if got := w.retained(t); len(got) != 1 {
			t.Errorf("retained are %v", got)
		}
		w.skip(time.Second)
		req := restoreRequest(leaseIDs[1], leaseIDs[0], disk)
		if err := w.Restore(context.Background(), req); !errors.Is(err, backend.ErrNotRetained) {
			t.Errorf("a restore of what is too old says %v", err)
		}
		w.rest()
		w.checkRest(t, leaseIDs[0])
		if got := w.left(); len(got) > 0 {
			t.Errorf("left is %v", got)
		}
	})
}

func restoreRequest(lease, from, sku string) backend.RestoreRequest {
	return backend.RestoreRequest{
		LeaseUUID: lease, FromLeaseUUID: from, Tenant: "tenant-a", CallbackURL: callbackURL,
		Items: []backend.LeaseItem{{SKU: sku, Quantity: 1, ServiceName: "app"}},
	}
}

// Smaller disks are taken when what is there fits, and when it is known.
func TestARestoreToASmallerDisk(t *testing.T) {
	measured := func(bytes int64) func([]string) (map[string]int64, error) {
		return func(ids []string) (map[string]int64, error) {
			out := map[string]int64{}
			for _, id := range ids {
				out[id] = bytes
			}
			return out, nil
		}
	}
	for name, tc := range map[string]struct {
		sku   string
		usage func([]string) (map[string]int64, error)
		want  error
	}{
		"the same":              {disk, func([]string) (map[string]int64, error) { return nil, errors.New("nobody asks") }, nil},
		"it fits":               {tiny, measured(1 << 20), nil},
		"it does not fit":       {tiny, measured(1<<20 + 1), backend.ErrDemoteDataExceedsTier},
		"cannot be measured":    {tiny, func([]string) (map[string]int64, error) { return nil, errors.New("no") }, backend.ErrDemoteDataExceedsTier},
		"there, and not known":  {tiny, func([]string) (map[string]int64, error) { return map[string]int64{}, nil }, backend.ErrDemoteDataExceedsTier},
		"a tier without a disk": {micro, measured(0), backend.ErrDemoteDataExceedsTier},
		"no tier":               {"gold", nil, backend.ErrUnknownSKU},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.closed(t, leaseIDs[1])
				w.usage = tc.usage
				err := w.Restore(context.Background(), restoreRequest(leaseIDs[0], leaseIDs[1], tc.sku))
				if !errors.Is(err, tc.want) {
					t.Fatalf("it says %v; want %v", err, tc.want)
				}
				w.rest()
				want := []string{}
				if tc.want != nil {
					want = append(want, leaseIDs[1])
				} else if info := w.ends(t, ready, success); info.SKU != tc.sku {
					t.Errorf("it is %+v", info)
				}
				if got := w.retained(t); !slices.Equal(got, want) {
					t.Errorf("retained are %v; want %v", got, want)
				}
				w.checkRest(t, leaseIDs...)
			})
		})
	}
}

// A lease whose volumes cannot be removed is closed after three attempts, and they are
// counted and tried until they are gone.
func TestVolumesThatCannotBeRemovedAreNotForgotten(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.retention.OnClose = false
		w.open()
		after(provision(onDisk(one(2)), serves(1)))(w)
		w.stuck = provider.ErrBusy
		if err := deprovision(w); err != nil {
			t.Fatal(err)
		}
		counted := func() bool { // once, from the first moment on
			if got := w.pool.Stats().Allocated.DiskMB; got != 128 {
				t.Fatalf("%d MB are counted", got)
			}
			return w.status(leaseIDs[0]) == none
		}
		w.wait(counted)
		if !w.wait(func() bool { return w.status(leaseIDs[0]) == none && len(w.calls.Of(leaseIDs[0])) == 2 }) {
			t.Fatalf("it is %q", w.status(leaseIDs[0]))
		}
		if last := w.calls.Of(leaseIDs[0])[1]; last.Status != failure || last.Error != "volume cleanup exhausted" || last.Retained {
			t.Errorf("the last callback is %+v", last)
		}
		if got := w.retained(t); len(got) > 0 {
			t.Errorf("retained are %v", got)
		}
		for range 2 { // also after a start
			if got := w.pool.Stats(); got.Allocated.DiskMB != 128 || got.ActiveContainers != 0 {
				t.Errorf("the pool has %+v", got)
			}
			w.open()
		}
		w.stuck = nil
		w.skip(2 * time.Hour)
		if !w.rest() || w.pool.Stats().Allocated.DiskMB != 0 || len(w.cluster.KeptVolumes())+len(w.left()) > 0 {
			t.Errorf("there is left %v, %v, %+v", w.cluster.KeptVolumes(), w.left(), w.pool.Stats())
		}
	})
}

// A provider that is not there is no attempt.
func TestAnEngineThatIsDownExhaustsNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.retention.OnClose = false
		w.open()
		after(provision(onDisk(one(1)), serves(1)))(w)
		w.stuck = provider.ErrUnavailable
		if err := deprovision(w); err != nil {
			t.Fatal(err)
		}
		for range 200 {
			_, _ = w.Step(context.Background(), leaseIDs[0])
			<-time.After(time.Second)
		}
		if got := w.status(leaseIDs[0]); got != deprovisioning {
			t.Errorf("it is %q", got)
		}
		w.stuck = nil
		w.ends(t, none, success, deprovisioned)
	})
}

func TestNothingStartsOnVolumesWhoseOwnerIsNotClear(t *testing.T) {
	good := `{"format":1,"id":"a","tenant":"t","state":"held","owner":"` + leaseIDs[0] + `"}`
	for name, row := range map[string]string{
		"no JSON": good[:9], "another form": strings.Replace(good, `"format":1`, `"format":2`, 1), "another name": strings.Replace(good, `"a"`, `"b"`, 1),
		"nobody's": strings.Replace(good, leaseIDs[0], "", 1), "both": strings.Replace(good, "held", "retained", 1), "an unknown state": strings.Replace(good, "held", "lost", 1),
	} {
		w := newWorld(t)
		if _, err := w.store.Put(context.Background(), "volumes/a", []byte(row), ""); err != nil {
			t.Fatal(err)
		}
		if err := w.tryOpen(); err == nil || !strings.Contains(err.Error(), "volumes/a") {
			t.Errorf("%s: it opens with %v", name, err)
		}
	}
}

// Volumes of a lease that says nothing of them stay: nobody has given them up.
func TestVolumesThatNobodyGaveUpStay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(onDisk(one(1)), serves(1)))(w)
		rec, err := w.store.Get(context.Background(), "leases/"+leaseIDs[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := w.store.Delete(context.Background(), "leases/"+leaseIDs[0], rec.Version); err != nil {
			t.Fatal(err)
		}
		w.open()
		for range 5 {
			if _, err := w.Step(context.Background(), hosting.Reaper); err != nil {
				t.Error(err)
			}
		}
		if got := w.cluster.KeptVolumes(); len(got) != 1 {
			t.Errorf("there are %v", got)
		}
	})
}

func TestAnImageOnItsWayIsWaitedFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		image := w.image("1")
		image.Fetching = true
		w.cluster.AddImage("docker.io/library/program:1", image)
		if err := provision(onDisk(one(1)), serves(1))(w); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			again, err := w.Step(context.Background(), leaseIDs[0])
			if err != nil || again <= 0 {
				t.Fatalf("it says %v, %v", again, err)
			}
		}
		if got := w.status(leaseIDs[0]); got != provisioning || len(w.cluster.KeptVolumes()) > 0 {
			t.Errorf("it is %q, with %v", got, w.cluster.KeptVolumes())
		}
		w.heal()
		w.ends(t, ready, success)
	})
}

func TestAnImageThatCannotBeHadFailsTheLease(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(onDisk(one(1)), serves(1)))(w)
		w.cluster.AddImage("docker.io/library/program:2", memory.Image{Missing: true})
		if err := update(onDisk(one(1)), serves(2))(w); err != nil {
			t.Fatal(err)
		}
		if info := w.ends(t, ready, success, failure); info.Message != "update failed: image pull failed; rolled back to previous version" {
			t.Errorf("it says %q", info.Message)
		}
		after(deprovision)(w)
		err := w.Provision(context.Background(), provisionRequest(leaseIDs[1], onDisk(one(1)), alone(serves(2))))
		if err != nil || !w.rest() {
			t.Fatal(err)
		}
		if info, err := w.GetProvision(context.Background(), leaseIDs[1]); err != nil || info.Reason != backend.ReasonImagePullFailed || info.Message != "image pull failed" {
			t.Errorf("it is %+v, %v", info, err)
		}
	})
}

// Another image with other volumes gets these, and the ones from before stay the lease's.
func TestAnUpdateToOtherVolumesKeepsThose(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		image := w.image("2")
		image.Volumes = []string{"/run", "/cache", "/more"}
		w.cluster.AddImage("docker.io/library/program:2", image)
		after(provision(onDisk(one(1)), serves(1)))(w)
		before := w.found(leaseIDs[0])
		after(update(onDisk(one(1)), serves(2)))(w)
		if got := w.cluster.KeptVolumes(); len(got) != 3 {
			t.Errorf("there are %v", got)
		}
		after(update(onDisk(one(1)), serves(1)))(w)
		if got := w.found(leaseIDs[0]); fmt.Sprint(got) != fmt.Sprint(before) {
			t.Errorf("it finds %v; want %v", got, before)
		}
		w.ends(t, ready, success, success, success)
		w.retention.OnClose = false
		w.open()
		after(deprovision)(w)
		w.ends(t, none, success, success, success, deprovisioned)
	})
}

func TestMoreVolumesThanALeaseMayHaveAreRefused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		image := w.image("1")
		image.Volumes = nil
		for i := range 17 {
			image.Volumes = append(image.Volumes, fmt.Sprintf("/data-%d", i))
		}
		w.cluster.AddImage("docker.io/library/program:1", image)
		after(provision(onDisk(one(1)), serves(1)))(w)
		if info := w.ends(t, failed, failure); info.Message != "the image declares 17 volumes, the most is 16" {
			t.Errorf("it says %q", info.Message)
		}
	})
}

// A tier without a disk has the directories in memory: no volume is left of it.
func TestWithoutADiskNothingIsKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(2), serves(1)))(w)
		for name, stamp := range w.found(leaseIDs[0]) {
			if stamp == "" {
				t.Errorf("%s could not write into its directory", name)
			}
		}
		if got := w.cluster.KeptVolumes(); len(got) > 0 {
			t.Errorf("there are %v", got)
		}
		after(deprovision)(w)
		if last := w.calls.Of(leaseIDs[0])[1]; last.Retained {
			t.Errorf("the last callback is %+v", last)
		}
	})
}

// Whoever asks twice for one restore, a crash in between, gets it.
func TestARestoreThatACrashCutIsAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.closed(t, leaseIDs[1])
		w.onMoments(func(_ int, what string) (error, bool) {
			if what == "after put volumes/"+w.Volumes().First() {
				return errKilled, true
			}
			return nil, false
		})
		req := restoreRequest(leaseIDs[0], leaseIDs[1], disk)
		for {
			err := w.Restore(context.Background(), req)
			if err == nil {
				break
			}
			if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			w.onMoments(nil)
			w.revive()
			other := req
			other.LeaseUUID = leaseIDs[2]
			if err := w.Restore(context.Background(), other); !errors.Is(err, backend.ErrInvalidState) {
				t.Errorf("a third lease is told %v", err)
			}
		}
		w.ends(t, ready, success)
	})
}

// The reaper is a key as leases are, and no lease.
func TestTheReaperIsAKey(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		all, err := w.Leases(context.Background())
		if err != nil || !slices.Equal(all, []string{hosting.Reaper}) || !w.Knows(hosting.Reaper) {
			t.Errorf("the keys are %v, %v", all, err)
		}
		req := provisionRequest(hosting.Reaper, one(1), alone(serves(1)))
		if err := w.Provision(context.Background(), req); !errors.Is(err, backend.ErrValidation) {
			t.Errorf("a lease of that name is told %v", err)
		}
		if err := w.Restore(context.Background(), restoreRequest(hosting.Reaper, leaseIDs[0], disk)); !errors.Is(err, backend.ErrValidation) {
			t.Errorf("a restore to that name is told %v", err)
		}
		after(provision(onDisk(one(1)), serves(1)))(w)
		ctx, cancel := context.WithCancel(context.Background())
		told, ended := map[string]bool{}, make(chan error, 1)
		go func() { ended <- w.Watch(ctx, func() {}, func(key string) { told[key] = true }) }()
		synctest.Wait()
		after(deprovision)(w)
		synctest.Wait()
		cancel()
		<-ended
		if !told[hosting.Reaper] || !told[leaseIDs[0]] {
			t.Errorf("told was of %v", told)
		}
	})
}

func TestALeaseIsNotRestoredToItself(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.closed(t, leaseIDs[0])
		if err := w.Restore(context.Background(), restoreRequest(leaseIDs[0], leaseIDs[0], disk)); !errors.Is(err, backend.ErrValidation) {
			t.Errorf("it says %v", err)
		}
	})
}

// What was retained without its manifest is kept, and not restored.
func TestDataWithoutAManifestStays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(onDisk(one(1)), serves(1)))(w)
		keys, _ := w.store.List(context.Background(), "manifests/")
		for _, key := range keys {
			rec, _ := w.store.Get(context.Background(), key)
			if err := w.store.Delete(context.Background(), key, rec.Version); err != nil {
				t.Fatal(err)
			}
		}
		after(deprovision)(w)
		if err := w.Restore(context.Background(), restoreRequest(leaseIDs[1], leaseIDs[0], disk)); !errors.Is(err, backend.ErrRestoreRefused) {
			t.Errorf("it says %v", err)
		}
		if got := w.retained(t); len(got) != 1 {
			t.Errorf("retained are %v", got)
		}
	})
}

// The time for which something is retained is that of the settings that are, also of what
// was retained under others; to retain nothing more removes nothing.
func TestAChangedGraceIsForWhatIsRetainedToo(t *testing.T) {
	for name, c := range map[string]struct {
		change hosting.Retention
		after  time.Duration
		kept   bool
	}{
		"as it was, before":  {hosting.Retention{OnClose: true, Grace: 10 * time.Hour}, 9 * time.Hour, true},
		"as it was, after":   {hosting.Retention{OnClose: true, Grace: 10 * time.Hour}, 11 * time.Hour, false},
		"shorter":            {hosting.Retention{OnClose: true, Grace: time.Hour}, 2 * time.Hour, false},
		"longer":             {hosting.Retention{OnClose: true, Grace: 20 * time.Hour}, 11 * time.Hour, true},
		"for ever":           {hosting.Retention{OnClose: true}, 1000 * time.Hour, true},
		"nothing more":       {hosting.Retention{Grace: 10 * time.Hour}, 9 * time.Hour, true},
		"nothing more, late": {hosting.Retention{Grace: 10 * time.Hour}, 11 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.retention = hosting.Retention{OnClose: true, Grace: 10 * time.Hour}
				w.open()
				after(provision(onDisk(one(1)), serves(1)), deprovision)(w)
				if sets, _ := w.Retained("", 0); len(sets) != 1 {
					t.Fatalf("retained is %v", sets)
				}
				w.skip(c.after)
				w.retention = c.change
				w.open()
				if _, err := w.Step(context.Background(), hosting.Reaper); err != nil {
					t.Error(err)
				}
				if !w.rest() {
					t.Fatal("it does not come to rest")
				}
				sets, _ := w.Retained("", 0)
				if kept := len(sets) == 1; kept != c.kept {
					t.Errorf("retained is %v", sets)
				}
				if c.kept && c.change.Grace > 0 && !sets[0].Until.Equal(sets[0].LeftAt.Add(c.change.Grace)) {
					t.Errorf("it is said to be retained until %s", sets[0].Until)
				}
			})
		})
	}
}
