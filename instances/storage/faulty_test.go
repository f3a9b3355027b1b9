package storage_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
)

func TestAFaultComesBeforeOrAfterTheEffect(t *testing.T) {
	for mode, happens := range map[storagetest.Mode]bool{
		storagetest.FailBefore: false, storagetest.FailAfter: true,
		storagetest.HangBefore: false, storagetest.HangAfter: true,
	} {
		synctest.Test(t, func(t *testing.T) {
			inner := storage.NewMemory()
			f := storagetest.NewFaulty(inner)
			f.Inject(storagetest.Fault{At: 2, Mode: mode})
			put(t, f, "one", "1")
			if _, _, err := f.Get(t.Context(), "one"); err != nil {
				t.Fatal(err) // a read is not counted
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := f.Put(ctx, "two", []byte("2"))
				done <- err
			}()
			synctest.Wait()
			hangs := mode == storagetest.HangBefore || mode == storagetest.HangAfter
			if f.Hanging() == 1 != hangs {
				t.Errorf("mode %d: %d calls hang", mode, f.Hanging())
			}
			cancel()
			err := <-done
			if hangs != errors.Is(err, context.Canceled) || hangs == errors.Is(err, storagetest.ErrInjected) {
				t.Errorf("mode %d: %v", mode, err)
			}
			if there, _ := inner.Exists(t.Context(), "two"); there != happens {
				t.Errorf("mode %d: written %v", mode, there)
			}
			put(t, f, "three", "3")
			want := []storagetest.Call{{Op: storagetest.OpPut, Key: "one"}, {Op: storagetest.OpPut, Key: "two"}, {Op: storagetest.OpPut, Key: "three"}}
			if !happens {
				want = slices.Delete(want, 1, 2)
			}
			if got := f.Effects(); !slices.Equal(got, want) || f.Pending() != 0 {
				t.Errorf("mode %d: effects %v, want %v", mode, got, want)
			}
		})
	}
}

func TestAFaultFitsOperationsAndKeys(t *testing.T) {
	f := storagetest.NewFaulty(storage.NewMemory())
	own := errors.New("of the test")
	f.Inject(storagetest.Fault{At: 1, Mode: storagetest.FailBefore, Ops: []storagetest.Op{storagetest.OpGet}, KeyPrefix: "a/", Err: own})
	put(t, f, "a/k", "x")
	put(t, f, "b/k", "x")
	if _, _, err := f.Get(t.Context(), "b/k"); err != nil {
		t.Error(err)
	}
	if _, _, err := f.Get(t.Context(), "a/k"); !errors.Is(err, own) {
		t.Error(err)
	}
	if _, _, err := f.Get(t.Context(), "a/k"); err != nil {
		t.Error(err)
	}
}

func TestADeadCallerDoesNothingMore(t *testing.T) {
	inner := storage.NewMemory()
	f := storagetest.NewFaulty(inner)
	f.Inject(storagetest.Fault{At: 1, Mode: storagetest.FailAfter, Dies: true})
	if _, err := f.Put(t.Context(), "k", []byte("x")); !errors.Is(err, storage.ErrUnavailable) {
		t.Error(err)
	}
	for name, call := range operations(t.Context(), f) {
		if err := call(); !errors.Is(err, storagetest.ErrInjected) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if data, _, err := inner.Get(t.Context(), "k"); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
	f.Revive()
	if _, _, err := f.Get(t.Context(), "k"); err != nil {
		t.Error(err)
	}
	if n := len(f.Calls()); n != 13 {
		t.Errorf("%d calls were counted", n)
	}
}

func TestARefusedConditionIsNoEffect(t *testing.T) {
	f := storagetest.NewFaulty(storage.NewMemory())
	put(t, f, "k", "x")
	if _, err := f.PutIfMatch(t.Context(), "k", nil, ""); !errors.Is(err, storage.ErrPrecondition) {
		t.Error(err)
	}
	if n := len(f.Effects()); n != 1 {
		t.Errorf("%d effects", n)
	}
}
