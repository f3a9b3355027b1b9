package hosting_test

import (
	"errors"
	"testing"
	"testing/synctest"
)

// A change of domain is cut before and after each write that it makes: what comes of it
// is the new domain alone, and the containers that there were.
func TestAChangeOfDomainThatIsCutAnywhereIsMade(t *testing.T) {
	for what, dies := range map[string]bool{"killed": true, "a call fails": false} {
		t.Run(what, func(t *testing.T) {
			cuts := 0
			for at := 1; ; at++ {
				came := false
				synctest.Test(t, func(t *testing.T) { came = domainCut(t, byCall(dies), at) })
				if !came || t.Failed() {
					break
				}
				cuts++
			}
			if cuts < 6 { // the wish, that it resolves, that it is served: each before and after
				t.Errorf("there are %d cut points only", cuts)
			}
		})
	}
}

func domainCut(t *testing.T, cut cutting, at int) bool {
	lease := leaseIDs[0]
	w := newWorld(t)
	w.provisioned(lease)
	w.wants(lease, shop)
	w.until("the first", func() bool { return w.domain(lease) == shop && !w.Busy() })
	before := w.Workloads(lease)
	struck := cut(w, at)
	for {
		err := w.ReconcileCustomDomain(t.Context(), lease, items(lease, mart))
		if err == nil {
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatalf("cut at %d: %v", at, err)
		}
		w.revive()
	}
	w.rest()
	came := struck()
	w.onMoments(nil)
	w.push()
	routes := w.plane.routes()
	if _, old := routes[shop]; old || w.domain(lease) != mart || routes[mart].Lease != lease {
		t.Errorf("cut at %d it has %q, and the table is %v", at, w.domain(lease), routes)
	}
	if now := w.Workloads(lease); len(now) != 1 || now[0] != before[0] {
		t.Errorf("cut at %d the workloads are %v, and were %v", at, now, before)
	}
	return came
}
