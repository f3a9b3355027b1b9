package backendtest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/berth-cloud/berth/backend"
)

var infoCases = []Case{
	{Name: "Info/OnlyWhenReady", run: func(e *env) {
		id := e.lease()
		e.provision(e.request(id))
		_, err := e.Backend.GetInfo(e.ctx, id)
		// A quick backend may be there already.
		if now := e.get(id).Status; err == nil && now != backend.ProvisionStatusReady || err != nil && !errors.Is(err, backend.ErrNotProvisioned) {
			e.Errorf("GetInfo of a lease that is %s has the error %v", now, err)
		}
		e.ends(id, success)
		info, err := e.Backend.GetInfo(e.ctx, id)
		if err != nil || info == nil {
			e.Errorf("GetInfo of a lease that is ready: %v, %v", info, err)
		}
	}},
	{Name: "Info/NotAfterFailure", run: func(e *env) {
		id := e.ready()
		e.broken(id)
		_, err := e.Backend.GetInfo(e.ctx, id)
		e.is(err, "GetInfo of a lease that failed", backend.ErrNotProvisioned)
	}},
}

var listCases = []Case{
	{Name: "List/Complete", run: func(e *env) {
		var ids []string
		for range 5 {
			ids = append(ids, e.lease())
			e.provision(e.request(ids[len(ids)-1]))
		}
		on := e.list()
		for _, id := range ids {
			if _, there := on[id]; !there {
				e.Errorf("ListProvisions lacks lease %s, which is on its way", id)
			}
		}
		for _, id := range ids {
			e.ends(id, success)
		}
		if all := e.list(); len(ids) > len(all) {
			e.Errorf("ListProvisions has %d of %d leases", len(all), len(ids))
		}
	}},
	{Name: "List/EqualToLookupAndGet", run: func(e *env) {
		ids := []string{e.ready(), e.ready()}
		all := e.list()
		found, err := e.Backend.LookupProvisions(e.ctx, ids)
		e.ok(err, "LookupProvisions")
		if len(found) != len(ids) {
			e.Fatalf("LookupProvisions has %d of %d leases", len(found), len(ids))
		}
		for _, p := range found {
			for from, other := range map[string]backend.ProvisionInfo{"ListProvisions": all[p.LeaseUUID], "GetProvision": *e.get(p.LeaseUUID)} {
				if a, b := plain(p), plain(other); !reflect.DeepEqual(a, b) {
					e.Errorf("by LookupProvisions a lease is %+v, by %s %+v", a, from, b)
				}
			}
		}
	}},
	{Name: "List/Pages", run: func(e *env) {
		pager, can := e.Backend.(backend.ProvisionPager)
		if !can {
			e.Skipf("the backend has no pages of its own")
		}
		for range 5 {
			e.ready()
		}
		all, err := e.Backend.ListProvisions(e.ctx)
		e.ok(err, "ListProvisions")
		e.samePages(func(after string, limit int) (string, error) {
			page, next, err := pager.PageProvisions(e.ctx, after, limit)
			return fmt.Sprint(uuids(page), next), err
		}, func(after string, limit int) (text, next string) {
			page, next := backend.PaginateProvisions(all, after, limit)
			return fmt.Sprint(uuids(page), next), next
		})
	}},
	{Name: "Lookup/LeavesOutWhatIsNotThere", run: func(e *env) {
		a, b := e.ready(), e.ready()
		e.ready()
		ids := []string{e.lease(), b, a, e.lease()}
		found, err := e.Backend.LookupProvisions(e.ctx, ids)
		e.ok(err, "LookupProvisions")
		got, want := uuids(found), []string{a, b}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			e.Errorf("LookupProvisions has %v, want %v", got, want)
		}
	}},
	{Name: "Lookup/Bounded", run: func(e *env) {
		id := e.ready()
		ids := []string{id}
		for len(ids) < backend.MaxLookupUUIDs {
			ids = append(ids, e.lease())
		}
		found, err := e.Backend.LookupProvisions(e.ctx, ids)
		if err != nil || len(found) != 1 {
			e.Errorf("LookupProvisions of %d leases, one of which is there: %d, %v", len(ids), len(found), err)
		}
		if _, err = e.Backend.LookupProvisions(e.ctx, append(ids, e.lease())); err == nil {
			e.Errorf("LookupProvisions of %d leases is no error", len(ids)+1)
		}
	}},
}

var stateCases = []Case{
	{Name: "Health/Healthy", run: func(e *env) { e.ok(e.Backend.Health(e.ctx), "Health") }},
	{Name: "Name/IsConstant", run: func(e *env) {
		if name := e.Backend.Name(); name == "" || name != e.Backend.Name() {
			e.Errorf("the name is %q and then %q", name, e.Backend.Name())
		}
	}},
	{Name: "Refresh/LosesNothing", run: func(e *env) {
		id, on := e.ready(), e.lease()
		before := plain(*e.get(id))
		e.provision(e.request(on))
		e.ok(e.Backend.RefreshState(e.ctx), "RefreshState")
		if after := plain(*e.get(id)); !reflect.DeepEqual(after, before) {
			e.Errorf("after RefreshState the lease is %+v, before %+v", after, before)
		}
		e.ends(on, success)
		e.ends(id, success)
	}},
}

// plain is a lease without what depends on who asked, and when.
func plain(p backend.ProvisionInfo) backend.ProvisionInfo {
	p.BackendName, p.CreatedAt, p.RetainedUntil = "", p.CreatedAt.UTC().Round(0), p.RetainedUntil.UTC().Round(0)
	if len(p.ServiceImages) == 0 {
		p.ServiceImages = nil
	}
	return p
}

func uuids(all []backend.ProvisionInfo) []string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.LeaseUUID
	}
	return out
}

// samePages walks with several limits, and compares each page with what it should
// be.
func (e *env) samePages(page func(after string, limit int) (string, error), want func(after string, limit int) (text, next string)) {
	e.Helper()
	for _, limit := range []int{0, 1, 2, 3, backend.MaxPageLimit + 1} {
		for after, more := "", true; more; {
			got, err := page(after, limit)
			e.ok(err, "a page")
			text, next := want(after, limit)
			if got != text {
				e.Fatalf("the page of %d after %q is %s, want %s", limit, after, got, text)
			}
			after, more = next, next != ""
		}
	}
}
