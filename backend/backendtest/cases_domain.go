package backendtest

import (
	"slices"

	"github.com/berth-cloud/berth/backend"
)

// containers are the ids of those of a lease.
func (e *env) containers(id string) []string {
	e.Helper()
	info, err := e.Backend.GetInfo(e.ctx, id)
	e.ok(err, "GetInfo")
	var out []string
	for _, s := range info.Services {
		for _, one := range s.Instances {
			out = append(out, one.ContainerID)
		}
	}
	slices.Sort(out)
	return out
}

var domainCases = []Case{
	{Name: "CustomDomain/SetAndRemoved", Needs: []Feature{CustomDomains}, run: func(e *env) {
		id := e.ready()
		for _, domain := range []string{e.Domain, ""} {
			items := e.request(id).Items
			items[0].CustomDomain = domain
			e.ok(e.Backend.ReconcileCustomDomain(e.ctx, id, items), "ReconcileCustomDomain")
			is := func() bool { got := e.get(id).Items; return len(got) == 1 && got[0].CustomDomain == domain }
			if !e.until(is) {
				e.Errorf("the items of the lease are %+v, want the custom domain %q", e.get(id).Items, domain)
			}
		}
		e.until(func() bool { return e.get(id).Status == backend.ProvisionStatusReady })
		e.serves(id)
	}},
	{Name: "CustomDomain/Unchanged", Needs: []Feature{CustomDomains}, run: func(e *env) {
		id := e.ready()
		e.ok(e.Backend.ReconcileCustomDomain(e.ctx, id, e.request(id).Items), "ReconcileCustomDomain")
		e.ends(id, success)
		e.serves(id)
	}},
	{Name: "CustomDomain/ChangesNothingElse", Needs: []Feature{CustomDomains}, run: func(e *env) {
		id := e.ready()
		before := e.containers(id)
		items := e.request(id).Items
		items[0].CustomDomain = e.Domain
		e.ok(e.Backend.ReconcileCustomDomain(e.ctx, id, items), "ReconcileCustomDomain")
		e.until(func() bool { return e.get(id).Items[0].CustomDomain == e.Domain })
		e.ok(e.Backend.ReconcileCustomDomain(e.ctx, id, items), "ReconcileCustomDomain again")
		e.ends(id, success)
		if now := e.containers(id); !slices.Equal(now, before) {
			e.Errorf("for a domain the containers became %v, and were %v", now, before)
		}
	}},
	{Name: "CustomDomain/UnnamedItem", Needs: []Feature{CustomDomains}, run: func(e *env) {
		id := e.lease()
		req := e.request(id)
		req.Items[0].ServiceName = ""
		e.provision(req)
		e.ends(id, success)
		items := []backend.LeaseItem{{SKU: e.SKU, Quantity: 1, CustomDomain: e.Domain}}
		e.ok(e.Backend.ReconcileCustomDomain(e.ctx, id, items), "ReconcileCustomDomain of an item without a name")
		if !e.until(func() bool { return e.get(id).Items[0].CustomDomain == e.Domain }) {
			e.Errorf("the items of the lease are %+v, want the custom domain %q", e.get(id).Items, e.Domain)
		}
		e.serves(id)
	}},
	{Name: "CustomDomain/OfTheProvision", Needs: []Feature{CustomDomains}, run: func(e *env) {
		id := e.lease()
		req := e.request(id)
		req.Items[0].CustomDomain = e.Domain
		e.provision(req)
		e.ends(id, success)
		if !e.until(func() bool { return e.get(id).Items[0].CustomDomain == e.Domain }) {
			e.Errorf("the items of the lease are %+v, want the custom domain %q", e.get(id).Items, e.Domain)
		}
	}},
	{Name: "CustomDomain/NotActive", Needs: []Feature{CustomDomains}, run: func(e *env) {
		id := e.ready()
		e.broken(id)
		before := e.ended(id)
		items := e.request(id).Items
		items[0].CustomDomain = e.Domain
		e.ok(e.Backend.ReconcileCustomDomain(e.ctx, id, items), "ReconcileCustomDomain of a lease that failed")
		e.ends(id, before...)
		e.status(id, backend.ProvisionStatusFailed)
	}},
}
