package hosting_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
)

const talks = `{"image":"program:2","args":["out:first words","out:last words","exit:3"],"ports":{"8080/tcp":{}}%s}`

func TestWhatAContainerSaidOutlivesIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), talks))(w)
		check := func(what string) {
			t.Helper()
			logs, err := w.GetLogs(context.Background(), leaseIDs[0], 1)
			if err != nil || logs["app/0"] != "last words\n" {
				t.Errorf("%s it said %q, %v", what, logs, err)
			}
			info, err := w.GetProvision(context.Background(), leaseIDs[0])
			if err != nil || info.Status != failed || info.FailCount != 1 || info.Reason != backend.ReasonContainerExited || info.Message == "" || info.Tenant != "tenant-a" {
				t.Errorf("%s it is %+v, %v", what, info, err)
			}
		}
		check("failed,")
		after(deprovision)(w)
		check("given up,")
		w.open()
		check("after a start")
		w.skip(hosting.DiagnosisAge - time.Hour)
		check("after almost a week")
		w.skip(2 * time.Hour)
		if _, err := w.GetLogs(context.Background(), leaseIDs[0], 1); !errors.Is(err, backend.ErrNotProvisioned) {
			t.Errorf("after a week it says %v", err)
		}
		if _, err := w.GetProvision(context.Background(), leaseIDs[0]); !errors.Is(err, backend.ErrNotProvisioned) {
			t.Errorf("after a week it is %v", err)
		}
		if _, err := w.Step(context.Background(), hosting.Reaper); err != nil {
			t.Error(err)
		}
		if keys, _ := w.store.List(context.Background(), ""); len(keys) > 0 {
			t.Errorf("left is %v", keys)
		}
	})
}

func TestASuccessForgetsWhyItFailed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), talks))(w)
		if keys, _ := w.store.List(context.Background(), "diagnostics/"); len(keys) != 1 {
			t.Errorf("kept is %v", keys)
		}
		after(provision(one(1), serves(1)))(w)
		if keys, _ := w.store.List(context.Background(), "diagnostics/"); len(keys) > 0 {
			t.Errorf("kept is %v", keys)
		}
		w.ends(t, ready, failure, success)
	})
}

// A program that never stops talking leaves a bounded record.
func TestADiagnosisHasABound(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		long := strings.Repeat("x", 4000)
		args := strings.Repeat(`"out:`+long+`",`, 60)
		after(provision(one(3), `{"image":"program:2","args":[`+args+`"exit:3"],"ports":{"8080/tcp":{}}%s}`))(w)
		rec, err := w.store.Get(context.Background(), "diagnostics/"+leaseIDs[0])
		if err != nil || len(rec.Value) < 3*8000 || len(rec.Value) > 3*17<<10 {
			t.Errorf("it has %d bytes, %v", len(rec.Value), err)
		}
	})
}

// What cannot be read of a diagnosis is none.
func TestADiagnosisThatCannotBeReadIsNone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		if _, err := w.store.Put(context.Background(), "diagnostics/"+leaseIDs[0], []byte("{"), ""); err != nil {
			t.Fatal(err)
		}
		w.open()
		if _, err := w.GetProvision(context.Background(), leaseIDs[0]); !errors.Is(err, backend.ErrNotProvisioned) {
			t.Errorf("it is %v", err)
		}
		if _, err := w.Step(context.Background(), hosting.Reaper); err != nil {
			t.Error(err)
		}
		if keys, _ := w.store.List(context.Background(), ""); len(keys) > 0 {
			t.Errorf("left is %v", keys)
		}
	})
}
