package hosting_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/resolvable"
)

const (
	shop = "shop.example.org"
	mart = "mart.example.org"
)

// wants asks for the domain of a lease with one service.
func (w *world) wants(lease, domain string) {
	w.t.Helper()
	if err := w.ReconcileCustomDomain(w.t.Context(), lease, items(lease, domain)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) domain(lease string) string {
	info, err := w.GetProvision(w.t.Context(), lease)
	if err != nil {
		w.t.Error(err)
		return ""
	}
	return info.Items[0].CustomDomain
}

// why is what a tenant reads of a domain that is not there.
func (w *world) why(lease string) string {
	info, err := w.GetInfo(w.t.Context(), lease)
	if err != nil {
		w.t.Error(err)
		return ""
	}
	return info.Metadata["custom_domain.app"]
}

func (w *world) provisioned(leases ...string) {
	w.t.Helper()
	for _, lease := range leases {
		if err := w.Provision(w.t.Context(), provisionRequest(lease, one(1), alone(serves(1)))); err != nil {
			w.t.Fatal(err)
		}
	}
	if !w.rest() {
		w.t.Fatal("it does not come to rest")
	}
}

func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	if !w.wait(cond) {
		w.t.Fatalf("%s: it does not come to that; the table is %v", what, w.plane.routes())
	}
}

func TestAChangeOfDomainTouchesNoInstance(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lease := leaseIDs[0]
		if err := w.Provision(t.Context(), provisionRequest(lease, one(2), alone(serves(1)))); err != nil {
			t.Fatal(err)
		}
		w.rest()
		before, err := w.GetInfo(t.Context(), lease)
		if err != nil {
			t.Fatal(err)
		}
		for _, domain := range []string{shop, mart, ""} {
			w.wants(lease, strings.ToUpper(domain))
			w.until(domain, func() bool { return w.domain(lease) == domain && !w.Busy() })
			w.push()
			routes := w.plane.routes()
			for _, d := range []string{shop, mart} {
				if r, there := routes[d]; there != (d == domain) || there && len(r.Targets) != 2 {
					t.Errorf("with %q the route of %s is %+v", domain, d, r)
				}
			}
			if why := w.why(lease); why != "" {
				t.Errorf("with %q it says %q", domain, why)
			}
		}
		now, err := w.GetInfo(t.Context(), lease)
		if err != nil {
			t.Fatal(err)
		}
		for i := range now.Instances {
			if now.Instances[i].ContainerID != before.Instances[i].ContainerID {
				t.Errorf("instance %d is another one", i)
			}
		}
		if got := w.sent(lease); len(got) != 1 {
			t.Errorf("it sent %v", got)
		}
	})
}

func TestWhatIsUnchangedIsNotWrittenAndNotAskedFor(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.provisioned(leaseIDs[0])
		w.wants(leaseIDs[0], shop)
		w.until("the domain", func() bool { return w.domain(leaseIDs[0]) == shop })
		row, _ := w.store.Get(t.Context(), "leases/"+leaseIDs[0])
		for range 3 {
			w.wants(leaseIDs[0], "Shop.example.ORG.")
		}
		w.rest()
		if now, _ := w.store.Get(t.Context(), "leases/"+leaseIDs[0]); now.Version != row.Version || w.plane.asked[shop] != 1 {
			t.Errorf("it was written again, or asked for %d times", w.plane.asked[shop])
		}
	})
}

func TestADomainThatDoesNotResolveKeepsTheOneBefore(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lease := leaseIDs[0]
		w.provisioned(lease)
		w.wants(lease, shop)
		w.until("the first", func() bool { return w.domain(lease) == shop })
		for _, c := range []struct {
			err  error
			says string
		}{{resolvable.ErrNoAddress, "it does not resolve"}, {resolvable.ErrUnanswered, "could not be found out"}} {
			w.plane.set(func(p *plane) { p.dns[mart] = c.err })
			w.wants(lease, mart)
			w.until(c.says, func() bool { return strings.Contains(w.why(lease), c.says) })
			if _, there := w.plane.routes()[shop]; w.domain(lease) != shop || !there {
				t.Errorf("the domain is %s", w.domain(lease))
			}
		}
		// It is asked for less and less often, and taken once it resolves.
		asked := w.plane.asked[mart]
		began := time.Now()
		w.wait(func() bool { return time.Since(began) > 2*time.Minute })
		if n := w.plane.asked[mart] - asked; n < 2 || n > 8 {
			t.Errorf("asked %d times in two minutes", n)
		}
		w.plane.set(func(p *plane) { delete(p.dns, mart) })
		for range 4 {
			w.wait(func() bool { return w.domain(lease) == mart })
		}
		if w.domain(lease) != mart || w.why(lease) != "" {
			t.Errorf("it is %s, and says %q", w.domain(lease), w.why(lease))
		}
	})
}

func TestARemovalIsAtOnceWhateverIsAsked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lease := leaseIDs[0]
		w.provisioned(lease)
		w.wants(lease, shop)
		w.until("the domain", func() bool { return w.domain(lease) == shop })
		w.plane.set(func(p *plane) { p.dns[mart] = resolvable.ErrNoAddress })
		w.wants(lease, mart)
		w.until("it waits", func() bool { return w.why(lease) != "" })
		w.wants(lease, "")
		if w.domain(lease) != "" {
			t.Errorf("it has %s", w.domain(lease))
		}
		w.push()
		if got := w.hostsOf(lease); len(got) != 1 {
			t.Errorf("%v lead to it", got)
		}
	})
}

func TestADomainOfSomebodyElseIsRefusedAndTheRestIsServed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		bad, good := leaseIDs[0], leaseIDs[1]
		w.provisioned(bad, good)
		w.wants(bad, shop)
		w.until("the first", func() bool { return w.domain(bad) == shop })
		w.plane.set(func(p *plane) { p.others["taken.example.org"] = true })
		w.wants(bad, "taken.example.org")
		w.wants(good, mart)
		w.until("the refusal", func() bool { return strings.Contains(w.why(bad), "somebody else has it") })
		w.until("the other lease", func() bool { return w.domain(good) == mart })
		w.push()
		if r := w.plane.routes()[shop]; w.domain(bad) != shop || r.Lease != bad {
			t.Errorf("it has %s, and %s leads to %s", w.domain(bad), shop, r.Lease)
		}
		// It is not taken anew at once, and is when its holder still wants it later.
		row, _ := w.store.Get(t.Context(), "leases/"+bad)
		w.wants(bad, "taken.example.org")
		if now, _ := w.store.Get(t.Context(), "leases/"+bad); now.Version != row.Version {
			t.Error("it was taken anew at once")
		}
		w.plane.set(func(p *plane) { clear(p.others) })
		<-time.After(2 * time.Minute)
		w.wants(bad, "taken.example.org")
		w.until("it is free", func() bool { return w.domain(bad) == "taken.example.org" })
	})
}

func TestOfTwoLeasesThatWantOneDomainTheFirstHasIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first, second := leaseIDs[1], leaseIDs[0]
		w.provisioned(first, second)
		w.wants(first, shop)
		<-time.After(time.Millisecond)
		w.wants(second, shop)
		w.until("both are settled", func() bool { return !w.Busy() })
		w.push()
		if w.domain(first) != shop || w.domain(second) != "" || w.plane.routes()[shop].Lease != first {
			t.Errorf("the first has %q, the second %q", w.domain(first), w.domain(second))
		}
		if why := w.why(second); !strings.Contains(why, "somebody else has it") {
			t.Errorf("the second is told %q", why)
		}
	})
}

func TestADataPlaneThatIsAwayRollsNothingBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lease := leaseIDs[0]
		w.provisioned(lease)
		w.wants(lease, shop)
		w.until("the first", func() bool { return w.domain(lease) == shop })
		w.plane.set(func(p *plane) { p.down = true })
		w.wants(lease, mart)
		began := time.Now()
		w.wait(func() bool { return time.Since(began) > time.Minute })
		if why := w.why(lease); w.domain(lease) != shop || !strings.Contains(why, "not served yet") {
			t.Errorf("it has %s and says %q", w.domain(lease), why)
		}
		w.plane.set(func(p *plane) { p.down = false })
		w.until("it is back", func() bool { return w.domain(lease) == mart })
		if w.plane.asked[mart] != 1 {
			t.Errorf("the gate was asked %d times", w.plane.asked[mart])
		}
	})
}

func TestADomainOfTheProvisionGoesTheSameWay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		lease := leaseIDs[0]
		ask := func(domain string) error {
			return w.Provision(t.Context(), provisionRequest(lease, items(lease, domain), alone(serves(1))))
		}
		for _, domain := range []string{"shop", "x." + wildcard, "bücher.example"} {
			if err := ask(domain); !errors.Is(err, backend.ErrValidation) {
				t.Errorf("%s: %v", domain, err)
			}
		}
		if err := ask("Shop.Example.org"); err != nil {
			t.Fatal(err)
		}
		w.until("the domain", func() bool { return w.domain(lease) == shop })
		// What it had, it has after a failure too, and the gate is not asked anew.
		w.die(lease)
		w.until("it failed", func() bool { return w.status(lease) == failed })
		w.rest()
		if err := ask(shop); err != nil {
			t.Fatal(err)
		}
		w.until("it is back", func() bool { return w.status(lease) == ready && !w.Busy() })
		w.push()
		if w.domain(lease) != shop || w.plane.routes()[shop].Lease != lease || w.plane.asked[shop] != 1 {
			t.Errorf("it has %q; the gate was asked %d times", w.domain(lease), w.plane.asked[shop])
		}
	})
}

func TestOneBadDomainDoesNotKeepTheOthersOut(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(three(), serves(1)))(w)
		all := three()
		all[0].CustomDomain, all[1].CustomDomain, all[2].CustomDomain = "no domain", shop, mart
		if err := w.ReconcileCustomDomain(t.Context(), leaseIDs[0], all); !errors.Is(err, backend.ErrInvalidState) || strings.Contains(err.Error(), mart) {
			t.Errorf("%v", err)
		}
		w.until("the good one", func() bool {
			info, err := w.GetProvision(t.Context(), leaseIDs[0])
			return err == nil && info.Items[1].CustomDomain == shop && !w.Busy()
		})
		info, err := w.GetInfo(t.Context(), leaseIDs[0])
		if why := info.Metadata["custom_domain.job"]; err != nil || !strings.Contains(why, "no port") {
			t.Errorf("of the service without instances it says %q, %v", why, err)
		}
	})
}
