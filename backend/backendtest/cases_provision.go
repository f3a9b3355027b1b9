package backendtest

import (
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/berth-cloud/berth/backend"
)

const (
	success = backend.CallbackStatusSuccess
	failed  = backend.CallbackStatusFailed
)

var provisionCases = []Case{
	{Name: "Provision/ReadyWithOneCallback", run: func(e *env) {
		id := e.lease()
		e.provision(e.request(id))
		e.status(id, backend.ProvisionStatusProvisioning, backend.ProvisionStatusReady)
		e.ends(id, success)
		e.status(id, backend.ProvisionStatusReady)
	}},
	{Name: "Provision/IsWhatWasAsked", run: func(e *env) {
		id := e.lease()
		req := e.request(id)
		req.Items[0].Quantity = 2
		want := slices.Clone(req.Items)
		e.provision(req)
		// What the caller does with his request then is his own business.
		req.Items[0] = backend.LeaseItem{SKU: "another", Quantity: 7, ServiceName: "another"}
		e.ends(id, success)
		p := e.get(id)
		if p.LeaseUUID != id || p.Tenant != e.tenant || p.ProviderUUID != e.provider || p.SKU != e.SKU ||
			p.Quantity != 2 || !slices.Equal(p.Items, want) || p.CreatedAt.IsZero() || p.FailCount != 0 || p.Reason != "" {
			e.Errorf("the lease is %+v", *p)
		}
	}},
	{Name: "Provision/Repeated", run: func(e *env) {
		id := e.lease()
		req := e.request(id)
		e.provision(req)
		e.is(e.Backend.Provision(e.ctx, req), "Provision of a lease on its way", backend.ErrAlreadyProvisioned)
		e.ends(id, success)
		e.is(e.Backend.Provision(e.ctx, req), "Provision of a lease that is ready", backend.ErrAlreadyProvisioned)
		e.ends(id, success)
		e.status(id, backend.ProvisionStatusReady)
	}},
	{Name: "Provision/AfterFailure", run: func(e *env) {
		id := e.ready()
		e.broken(id)
		before := e.ended(id) // that it broke may have been told
		if e.get(id).FailCount != 1 {
			e.Errorf("the lease has failed %d times, want 1", e.get(id).FailCount)
		}
		e.provision(e.request(id))
		e.ends(id, append(before, success)...)
		e.status(id, backend.ProvisionStatusReady)
		if n := e.get(id).FailCount; n != 0 {
			e.Errorf("the lease is ready again and has failed %d times", n)
		}
	}},
	{Name: "Provision/Broken", run: func(e *env) {
		if e.Broken == nil {
			e.Skipf("the fixture has no broken manifest")
		}
		id := e.lease()
		req := e.request(id)
		req.Payload = slices.Clone(e.Broken)
		e.provision(req)
		e.ends(id, failed)
		e.tellsWhy(id)
		e.status(id, backend.ProvisionStatusFailed)
		p := e.get(id)
		if p.Reason == "" || p.Message == "" || p.FailCount != 1 {
			e.Errorf("the lease has failed as %+v", *p)
		}
		_, err := e.Backend.GetInfo(e.ctx, id)
		e.is(err, "GetInfo of a lease that failed", backend.ErrNotProvisioned)
		e.provision(e.request(id))
		e.ends(id, failed, success)
		e.status(id, backend.ProvisionStatusReady)
	}},
	{Name: "Provision/UnknownSKU", Needs: []Feature{Validation}, run: func(e *env) {
		e.refused(func(r *backend.ProvisionRequest) { r.Items[0].SKU = e.UnknownSKU }, backend.ErrUnknownSKU)
	}},
	{Name: "Provision/InvalidManifest", Needs: []Feature{Validation}, run: func(e *env) {
		e.refused(func(r *backend.ProvisionRequest) { r.Payload = slices.Clone(e.Invalid) }, backend.ErrInvalidManifest)
	}},
	{Name: "Provision/InvalidItems", Needs: []Feature{Validation}, run: func(e *env) {
		e.refused(func(r *backend.ProvisionRequest) { r.Items = nil }, backend.ErrValidation)
		e.refused(func(r *backend.ProvisionRequest) { r.Items[0].Quantity = -1 }, backend.ErrValidation)
		e.refused(func(r *backend.ProvisionRequest) { r.Items[0].Quantity = backend.MaxQuantity + 1 }, backend.ErrValidation)
		e.refused(func(r *backend.ProvisionRequest) {
			r.Items = []backend.LeaseItem{{SKU: e.SKU, Quantity: 1}, {SKU: e.SKU, Quantity: 1}}
		}, backend.ErrInvalidManifest)
	}},
	{Name: "Provision/NoRoom", run: func(e *env) {
		if e.Huge == nil {
			e.Skipf("the fixture has nothing that is too large")
		}
		e.refused(func(r *backend.ProvisionRequest) { r.Items = slices.Clone(e.Huge) }, backend.ErrInsufficientResources)
	}},
}

// refused asks for a lease that is refused and leaves nothing.
func (e *env) refused(change func(*backend.ProvisionRequest), kind error) {
	e.Helper()
	id := e.lease()
	req := e.request(id)
	change(&req)
	err := e.Backend.Provision(e.ctx, req)
	e.is(err, "Provision", kind)
	if code := backend.ClassifyValidationError(kind); backend.ClassifyValidationError(err) != code {
		e.Errorf("Provision is %v, with the code %q, want %q", err, backend.ClassifyValidationError(err), code)
	}
	e.settle()
	if got := e.Callbacks.Of(id); len(got) > 0 {
		e.Errorf("a lease that was refused has the callbacks %+v", got)
	}
	e.isNowhere(id)
	if _, err := e.Backend.GetProvision(e.ctx, id); !errors.Is(err, backend.ErrNotProvisioned) {
		e.Errorf("GetProvision of a lease that was refused is %v", err)
	}
}

// tellsWhy fails when the last callback of a lease has no words, or too many.
func (e *env) tellsWhy(id string) {
	e.Helper()
	all := e.Callbacks.Of(id)
	if text := all[len(all)-1].Error; text == "" || utf8.RuneCountInString(text) > backend.MaxCallbackError {
		e.Errorf("the callback says %q", text)
	}
}
