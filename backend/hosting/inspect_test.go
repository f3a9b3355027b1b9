package hosting_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/provider"
)

func TestAnInspectionHasTheHistoryOfALease(t *testing.T) {
	w := newWorld(t)
	ctx, lease := t.Context(), leaseIDs[0]
	req := provisionRequest(lease, three(), chain(serves(1), serves(1)))
	req.CallbackURL = "http://holder.test:8080/callbacks/hush?token=hush"
	if err := w.Provision(ctx, req); err != nil {
		t.Fatal(err)
	}
	got, err := w.Inspect(ctx, lease)
	if err != nil || got.Op == nil || got.Op.Kind != "provision" || got.Op.Version != 1 || got.Op.Deadline.IsZero() || len(got.Workloads) != 2 || got.Workloads[0].Known {
		t.Errorf("a lease that was accepted is %+v, %v", got, err)
	}
	if got.CallbackOrigin != "http://holder.test:8080" {
		t.Errorf("callbacks go to %q", got.CallbackOrigin)
	}
	if !w.rest() {
		t.Fatal("it does not come to rest")
	}
	if err := w.Update(ctx, backend.UpdateRequest{LeaseUUID: lease, CallbackURL: callbackURL, Payload: chain(breaks, serves(1))}); err != nil || !w.rest() {
		t.Fatalf("update: %v", err)
	}
	got, err = w.Inspect(ctx, lease)
	if err != nil || got.Op != nil || got.Lease.Status != backend.ProvisionStatusReady || got.Lease.FailCount != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	var statuses []string
	for _, r := range got.Releases {
		statuses = append(statuses, r.Status)
	}
	if !slices.Equal(statuses, []string{"active", "failed"}) || got.Releases[1].Reason != backend.ReasonUpdateFailed || len(got.Releases[0].Images) != 3 {
		t.Errorf("the releases are %+v", got.Releases)
	}
	for _, one := range got.Workloads {
		if !one.Known || one.State != provider.StateRunning || one.Ready != 1 || one.Replicas != 1 || one.Instance.IsNil() || one.Release.IsNil() {
			t.Errorf("the workload is %+v", one)
		}
	}

	// What the provider does not say is said as such.
	w.down = true
	got, err = w.Inspect(ctx, lease)
	if err != nil || len(got.Workloads) != 2 || !errors.Is(got.Workloads[0].Err, errKilled) || got.Workloads[0].Known {
		t.Errorf("without the provider it is %+v, %v", got, err)
	}
	w.down = false
	if _, err := w.Inspect(ctx, leaseIDs[1]); !errors.Is(err, backend.ErrNotProvisioned) {
		t.Errorf("a lease that is not known is %v", err)
	}
}

func TestALeaseIsFoundByTheBeginningOfItsUUID(t *testing.T) {
	w := newWorld(t)
	for _, lease := range leaseIDs {
		if err := w.Provision(t.Context(), provisionRequest(lease, one(1), alone(serves(1)))); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		prefix string
		limit  int
		want   []string
		more   bool
	}{
		{"", 0, leaseIDs, false},
		{"", 2, leaseIDs[:2], true},
		{"0190a1b2-0000-7000-8000-00000000000", 3, leaseIDs, false},
		{leaseIDs[1], 2, leaseIDs[1:2], false},
		{"0190a1b3", 2, nil, false},
		{"z", 0, nil, false},
		{strings.ToUpper(leaseIDs[1]), 2, nil, false},
	} {
		if got, more := w.Matching(tt.prefix, tt.limit); !slices.Equal(got, tt.want) || more != tt.more {
			t.Errorf("%q, %d: %v, %t", tt.prefix, tt.limit, got, more)
		}
	}
	if got := w.CountByStatus(); got[backend.ProvisionStatusProvisioning] != 3 || len(got) != 1 {
		t.Errorf("they are %v", got)
	}
}
