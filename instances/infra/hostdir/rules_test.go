package hostdir_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
)

func TestOnlyARecordWithEveryMarkIsTheOwners(t *testing.T) {
	b := newBench(t)
	p, req := b.open(owner), hostdirtest.Request(owner, "")
	good := record{Record: p.host.NewRecord(1, req)}
	for name, spoil := range map[string]func(r *record){
		"another shard":         func(r *record) { r.Tags[infra.TagShard] = "two" },
		"another cluster":       func(r *record) { r.Tags[infra.TagCluster] = "other" },
		"another's tag":         func(r *record) { r.Tags[infra.TagInstance] = hostdirtest.Request(owner, "").InstanceID },
		"no tags":               func(r *record) { r.Tags = nil },
		"another instance":      func(r *record) { r.InstanceID = hostdirtest.Request(owner, "").InstanceID },
		"another kind's id":     func(r *record) { r.ProviderID = "x" + r.ProviderID },
		"a longer id":           func(r *record) { r.ProviderID += "0" },
		"an id of nothing":      func(r *record) { r.ProviderID = "" },
		"an id of another hash": func(r *record) { r.ProviderID = idPrefix + "00000000" + r.ProviderID[len(idPrefix)+8:] },
	} {
		t.Run(name, func(t *testing.T) {
			r := good
			r.Tags = req.Tags()
			spoil(&r)
			b.put(b.folder(req.InstanceID), r)
			ctx := hostdirtest.Patient(t)
			if inst, err := p.GetInstanceStatus(ctx, req.InstanceID, ""); !infra.IsNotFound(err) {
				t.Errorf("status: %v, %v, not ErrInstanceNotFound", inst, err)
			}
			if _, err := p.CreateInstance(ctx, req); !infra.IsConflict(err) {
				t.Errorf("create: %v, not ErrConflict", err)
			}
			if page, err := p.ListInstances(ctx, infra.ListInstancesRequest{ClusterID: owner.ClusterID, Shard: owner.Shard}); err != nil || len(page.Instances) > 0 {
				t.Errorf("list: %v, %v, not empty", page, err)
			}
			if err := p.DeleteInstance(ctx, req.InstanceID, ""); err != nil {
				t.Errorf("delete: %v", err)
			}
			if _, err := os.Stat(filepath.Join(b.folder(req.InstanceID), aliveFile)); err != nil {
				t.Errorf("what is not the owner's was touched: %v", err)
			}
		})
	}
}

func TestARecordIsOneObject(t *testing.T) {
	b := newBench(t)
	p, req := b.open(owner), hostdirtest.Request(owner, "")
	if _, err := p.CreateInstance(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(b.folder(req.InstanceID), "machine.json"))
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Version", "InstanceID", "ProviderID", "Tags", "LaunchedAt", "DeletedAt", "Word"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s has no %s", raw, name)
		}
		delete(fields, name)
	}
	if len(fields) > 0 {
		t.Errorf("and has %v", fields)
	}
}

func TestACreateThatMakesNothingLeavesNoFolder(t *testing.T) {
	b := newBench(t)
	p, req := b.open(owner), hostdirtest.Request(owner, "")
	p.full = true
	if _, err := p.CreateInstance(t.Context(), req); !errors.Is(err, infra.ErrNoCapacity) {
		t.Errorf("%v, not ErrNoCapacity", err)
	}
	if b.count(req.InstanceID) != 0 {
		t.Error("a folder is left")
	}
}

func TestAFolderWithoutARecordKeepsWhatIsNotOurs(t *testing.T) {
	b := newBench(t)
	p, req := b.open(owner), hostdirtest.Request(owner, "")
	files := []string{"somebody's", hostdir.RecordFile + hostdir.Unfinished}
	if err := os.Mkdir(b.folder(req.InstanceID), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if err := os.WriteFile(filepath.Join(b.folder(req.InstanceID), name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.DeleteInstance(t.Context(), req.InstanceID, ""); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(b.folder(req.InstanceID))
	if err != nil || len(left) != 1 || left[0].Name() != files[0] {
		t.Errorf("%v, %v, not %s alone", left, err, files[0])
	}
}

func TestThePagesOfAListAreTheInstancesInOrder(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	p := b.open(owner)
	var want []string
	for range 5 {
		req := hostdirtest.Request(owner, "")
		want = append(want, req.InstanceID)
		if _, err := p.CreateInstance(ctx, req); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(want)
	if err := os.Mkdir(b.folder("Lost+Found"), 0o700); err != nil { // no instance's
		t.Fatal(err)
	}
	var got []string
	req := infra.ListInstancesRequest{ClusterID: owner.ClusterID, Shard: owner.Shard, Limit: 2}
	for pages := 1; ; pages++ {
		page, err := p.ListInstances(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		for _, inst := range page.Instances {
			got = append(got, inst.InstanceID)
		}
		if req.NextToken = page.NextToken; req.NextToken == "" {
			if pages != 3 {
				t.Errorf("%d pages, not 3", pages)
			}
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	for _, token := range []string{"x", "after-", "after-../x", want[0]} {
		req.NextToken = token
		if _, err := p.ListInstances(ctx, req); !errors.Is(err, infra.ErrInvalidRequest) {
			t.Errorf("token %q: %v, not ErrInvalidRequest", token, err)
		}
	}
}

func TestAFolderIsLockedForOneCall(t *testing.T) {
	path := t.TempDir()
	unlock, err := hostdir.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hostdir.TryLock(path); !errors.Is(err, hostdir.ErrLocked) {
		t.Errorf("a second lock: %v, not ErrLocked", err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := hostdir.Lock(ctx, path); !errors.Is(err, infra.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a lock that is never free: %v, not ErrUnavailable", err)
		}
	})
	unlock()
	if unlock, err = hostdir.Lock(t.Context(), path); err != nil {
		t.Fatalf("a lock that is free again: %v", err)
	}
	unlock()
	if _, err := hostdir.Lock(t.Context(), filepath.Join(path, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no folder: %v, not ErrNotExist", err)
	}
}

// What the holder of the lock removes and another makes again is another folder.
func TestALockOfARemovedFolderHoldsNobodyUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	unlock, err := hostdir.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	d, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if !hostdir.IsAt(d, path) {
		t.Error("the folder is there, and its lock would not count")
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if hostdir.IsAt(d, path) {
		t.Error("a lock of the removed folder would count for the new one")
	}
	again, err := hostdir.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestAMachineThatAnotherCallHasIsLookedAtAndLeft(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	p, req := b.open(owner), hostdirtest.Request(owner, "")
	if _, err := p.CreateInstance(ctx, req); err != nil {
		t.Fatal(err)
	}
	cut := b.open(owner)
	stop := errors.New("cut here")
	cut.CutBefore(func(effect string) error {
		if effect == "contents" {
			return stop
		}
		return nil
	})
	if err := cut.DeleteInstance(ctx, req.InstanceID, ""); !errors.Is(err, stop) || !errors.Is(err, infra.ErrAmbiguous) {
		t.Fatalf("a delete that was cut: %v, not ErrAmbiguous", err)
	}
	unlock, err := hostdir.TryLock(b.folder(req.InstanceID))
	if err != nil {
		t.Fatal(err)
	}
	inst, err := p.GetInstanceStatus(ctx, req.InstanceID, "")
	if err != nil || inst.Status != infra.StatusDeleting {
		t.Errorf("%v, %v, not deleting", inst, err)
	}
	unlock()
	if inst, err := p.GetInstanceStatus(ctx, req.InstanceID, ""); !infra.IsNotFound(err) {
		t.Errorf("%v, %v, and not gone", inst, err)
	}
}
