package backendtest

import "github.com/berth-cloud/berth/backend"

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
