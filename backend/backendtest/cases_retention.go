package backendtest

import (
	"fmt"

	"github.com/berth-cloud/berth/backend"
)

var retentionCases = []Case{
	{Name: "Retention/WhatWasReadyIsKept", Needs: []Feature{Retention}, run: func(e *env) {
		id := e.ready()
		if e.retains(id) {
			e.Errorf("ListRetentions has a lease that is ready")
		}
		e.retained(id)
		e.isNowhere(id)
		p := e.get(id)
		if p.Status != backend.ProvisionStatusRetained || p.Tenant != e.tenant {
			e.Errorf("by GetProvision what is retained is %+v", *p)
		}
		if until := p.RetainedUntil; !until.IsZero() && !until.After(p.CreatedAt) {
			e.Errorf("what is retained is given up at %s, and is of %s", until, p.CreatedAt)
		}
	}},
	{Name: "Retention/IsTold", Needs: []Feature{Retention, DeprovisionedCallback}, run: func(e *env) {
		id := e.ready()
		e.retained(id)
		told := func() bool {
			all := e.Callbacks.Of(id)
			last := all[len(all)-1]
			return last.Status == backend.CallbackStatusDeprovisioned && last.Retained
		}
		if !e.until(told) {
			e.Errorf("the callbacks of a lease that is retained are %+v", e.Callbacks.Of(id))
		}
	}},
	{Name: "Retention/Pages", Needs: []Feature{Retention}, run: func(e *env) {
		pager, can := e.Backend.(backend.RetentionPager)
		if !can {
			e.Skipf("the backend has no pages of its own")
		}
		for range 3 {
			e.retained(e.ready())
		}
		all, err := e.Backend.ListRetentions(e.ctx)
		e.ok(err, "ListRetentions")
		e.samePages(func(after string, limit int) (string, error) {
			page, next, err := pager.PageRetentions(e.ctx, after, limit)
			return fmt.Sprint(page, next), err
		}, func(after string, limit int) (text, next string) {
			page, next := backend.PaginateRetentions(all, after, limit)
			return fmt.Sprint(page, next), next
		})
	}},
}

var restoreCases = []Case{
	{Name: "Restore/BringsTheLeaseBack", Needs: []Feature{Retention, Restore}, run: func(e *env) {
		old := e.retained(e.ready())
		id := e.lease()
		e.ok(e.Backend.Restore(e.ctx, e.restoreRequest(id, old)), "Restore")
		e.ends(id, success)
		e.serves(id)
		if p := e.get(id); p.Tenant != e.tenant || p.Quantity != 1 {
			e.Errorf("what was restored is %+v", *p)
		}
		if !e.until(func() bool { return !e.retains(old) }) {
			e.Errorf("what was restored is still retained")
		}
	}},
	{Name: "Restore/IsRetainedInItsTurn", Needs: []Feature{Retention, Restore}, run: func(e *env) {
		first := e.retained(e.ready())
		second := e.lease()
		e.ok(e.Backend.Restore(e.ctx, e.restoreRequest(second, first)), "Restore")
		e.ends(second, success)
		e.until(func() bool { return !e.retains(first) })
		third, old := e.lease(), e.retained(second)
		e.is(e.Backend.Restore(e.ctx, e.restoreRequest(third, first)), "Restore of what another has restored", backend.ErrNotRetained)
		e.ok(e.Backend.Restore(e.ctx, e.restoreRequest(third, old)), "Restore")
		e.ends(third, success)
		e.serves(third)
	}},
	{Name: "Restore/ToASmallerSKU", Needs: []Feature{Retention, Restore}, run: func(e *env) {
		if e.SmallerSKU == "" {
			e.Skipf("the fixture has no smaller SKU")
		}
		id, old := e.lease(), e.retained(e.ready())
		req := e.restoreRequest(id, old)
		req.Items[0].SKU = e.SmallerSKU
		err := e.Backend.Restore(e.ctx, req)
		if err == nil { // the data fits
			e.ends(id, success)
			e.serves(id)
			return
		}
		e.is(err, "Restore", backend.ErrDemoteDataExceedsTier)
		e.leftAlone(id)
		if !e.retains(old) {
			e.Errorf("what was not restored is no longer retained")
		}
	}},
	{Name: "Restore/OfNothing", Needs: []Feature{Restore}, run: func(e *env) {
		id := e.lease()
		e.is(e.Backend.Restore(e.ctx, e.restoreRequest(id, e.lease())), "Restore", backend.ErrNotRetained)
		e.leftAlone(id)
	}},
	{Name: "Restore/OfAnotherTenant", Needs: []Feature{Retention, Restore}, run: func(e *env) {
		e.notRestored(func(r *backend.RestoreRequest) { r.Tenant += "x" }, backend.ErrNotRetained)
	}},
	{Name: "Restore/OfAnotherShape", Needs: []Feature{Retention, Restore}, run: func(e *env) {
		e.notRestored(func(r *backend.RestoreRequest) { r.Items[0].Quantity = 2 }, backend.ErrValidation)
		e.notRestored(func(r *backend.RestoreRequest) { r.Items[0].ServiceName = "other" }, backend.ErrValidation)
		e.notRestored(func(r *backend.RestoreRequest) { r.Items = nil }, backend.ErrValidation)
	}},
	{Name: "Restore/OfAnotherProvider", Needs: []Feature{Retention, Restore}, run: func(e *env) {
		e.notRestored(func(r *backend.RestoreRequest) { r.ProviderUUID = e.lease() }, backend.ErrValidation, backend.ErrNotRetained)
	}},
	{Name: "Restore/OfAnyProvider", Needs: []Feature{Retention, Restore}, run: func(e *env) {
		req := e.restoreRequest(e.lease(), e.retained(e.ready()))
		req.ProviderUUID = ""
		e.ok(e.Backend.Restore(e.ctx, req), "Restore")
		e.ends(req.LeaseUUID, success)
	}},
	{Name: "Restore/OntoALease", Needs: []Feature{Retention, Restore}, run: func(e *env) {
		id, old := e.ready(), e.retained(e.ready())
		e.is(e.Backend.Restore(e.ctx, e.restoreRequest(id, old)), "Restore", backend.ErrAlreadyProvisioned)
		e.ends(id, success)
		e.serves(id)
		if !e.retains(old) {
			e.Errorf("what was not restored is no longer retained")
		}
	}},
	{Name: "Restore/OfALease", Needs: []Feature{Restore}, run: func(e *env) {
		id, live := e.lease(), e.ready()
		e.is(e.Backend.Restore(e.ctx, e.restoreRequest(id, live)), "Restore", backend.ErrNotRetained, backend.ErrInvalidState)
		e.leftAlone(id)
		e.serves(live)
	}},
	{Name: "Restore/OneOfMany", Needs: []Feature{Retention, Restore}, run: func(e *env) {
		old := e.retained(e.ready())
		ids := e.many(e.lease)
		errs := e.atOnce(ids, func(id string) error { return e.Backend.Restore(e.ctx, e.restoreRequest(id, old)) })
		accepted := 0
		for i, err := range errs {
			if err == nil {
				accepted++
				e.ends(ids[i], success)
				continue
			}
			e.is(err, "Restore of what another restores", backend.ErrNotRetained, backend.ErrInvalidState)
		}
		if accepted != 1 {
			e.Errorf("%d of %d restores are accepted, want 1", accepted, len(ids))
		}
	}},
}

func (e *env) restoreRequest(id, from string) backend.RestoreRequest {
	return backend.RestoreRequest{
		LeaseUUID: id, FromLeaseUUID: from, Tenant: e.tenant, ProviderUUID: e.provider,
		Items: e.request(id).Items, CallbackURL: e.CallbackURL,
	}
}

// retained gives a lease up, of which the data is kept.
func (e *env) retained(id string) string {
	e.Helper()
	e.deprovision(id)
	if !e.until(func() bool { return e.retains(id) }) {
		e.Fatalf("ListRetentions lacks lease %s, which was ready", id)
	}
	return id
}

func (e *env) retains(id string) bool {
	e.Helper()
	all, err := e.Backend.ListRetentions(e.ctx)
	e.ok(err, "ListRetentions")
	for _, r := range all {
		if r.LeaseUUID == id {
			return true
		}
	}
	return false
}

// notRestored asks for a restore that is refused and changes nothing.
func (e *env) notRestored(change func(*backend.RestoreRequest), kinds ...error) {
	e.Helper()
	id, old := e.lease(), e.retained(e.ready())
	req := e.restoreRequest(id, old)
	change(&req)
	e.is(e.Backend.Restore(e.ctx, req), "Restore", kinds...)
	e.leftAlone(id)
	if !e.retains(old) {
		e.Errorf("what was not restored is no longer retained")
	}
}
