package hosting_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/berth-cloud/berth/backend"
)

func TestACustomDomainThatNobodyRoutesIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.noDomains = true
		w.open()
		lease := leaseIDs[0]
		req := backend.ProvisionRequest{
			LeaseUUID: lease, Tenant: "acme", CallbackURL: "http://holder.test/callbacks/provision", Payload: w.fixture().Manifest,
			Items: []backend.LeaseItem{{SKU: micro, Quantity: 1, CustomDomain: "shop.example.org"}},
		}
		if err := w.Provision(t.Context(), req); !errors.Is(err, backend.ErrValidation) {
			t.Errorf("a lease with a domain: %v", err)
		}
		req.Items[0].CustomDomain = ""
		if err := w.Provision(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		ready := func() bool {
			info, err := w.GetProvision(t.Context(), lease)
			return err == nil && info.Status == backend.ProvisionStatusReady
		}
		if !w.wait(ready) {
			t.Fatal("the lease is not ready")
		}
		if err := w.ReconcileCustomDomain(t.Context(), lease, req.Items); err != nil {
			t.Errorf("no domain, as before: %v", err)
		}
		req.Items[0].CustomDomain = "shop.example.org"
		if err := w.ReconcileCustomDomain(t.Context(), lease, req.Items); !errors.Is(err, backend.ErrInvalidState) {
			t.Errorf("a domain for a lease that is ready: %v", err)
		}
	})
}
