package hosting_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/fqdn"
	"github.com/berth-cloud/berth/provider/memory"
)

// hostsOf are those that lead to a lease.
func (w *world) hostsOf(lease string) []string {
	var out []string
	for host, r := range w.plane.routes() {
		if r.Lease == lease {
			out = append(out, host)
		}
	}
	slices.Sort(out)
	return out
}

func name(lease, service string, index, quantity int) string {
	return fqdn.Host(wildcard, lease, service, index, quantity)
}

func TestEveryInstanceOfALeaseHasAName(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(2), serves(1)))(w)
		w.push()
		want := []string{name(leaseIDs[0], "app", 0, 2), name(leaseIDs[0], "app", 1, 2)}
		slices.Sort(want)
		if got := w.hostsOf(leaseIDs[0]); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		info, err := w.GetInfo(t.Context(), leaseIDs[0])
		if err != nil {
			t.Fatal(err)
		}
		for i, one := range info.Instances {
			host := name(leaseIDs[0], "app", i, 2)
			r := w.plane.routes()[host]
			if one.FQDN != host || len(r.Targets) != 1 || r.Targets[0].Address.Port() != 8080 || r.Hold == 0 {
				t.Errorf("instance %d is %+v, and its route %+v", i, one, r)
			}
		}
		if first := name(leaseIDs[0], "app", 0, 2); info.FQDN != first || info.Services["app"].FQDN != first {
			t.Errorf("the lease is called %s, its service %s", info.FQDN, info.Services["app"].FQDN)
		}
	})
}

func TestAServiceThatAnswersNothingHasNoName(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		quiet := `{"image":"program:1","args":["wait"]%s}`
		after(provision(one(1), quiet))(w)
		w.push()
		info, err := w.GetInfo(t.Context(), leaseIDs[0])
		if got := w.hostsOf(leaseIDs[0]); err != nil || len(got) != 0 || info.FQDN != "" || info.Instances[0].FQDN != "" {
			t.Errorf("%v, %+v, %v", got, info, err)
		}
	})
}

func TestTargetsAreThoseThatTakeRequestsNow(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		w.push()
		host := name(leaseIDs[0], "app", 0, 1)
		before := w.plane.routes()[host].Targets
		if err := update(one(1), serves(2))(w); err != nil {
			t.Fatal(err)
		}
		// At no moment of the update the name leads nowhere.
		w.wait(func() bool {
			if r := w.plane.routes()[host]; len(r.Targets) == 0 || r.Hold == 0 {
				t.Errorf("while it is %s the route is %+v", w.status(leaseIDs[0]), r)
				return true
			}
			return !w.Busy()
		})
		w.push()
		if now := w.plane.routes()[host].Targets; len(now) != 1 || now[0] == before[0] {
			t.Errorf("after the update the target is %+v, and was %+v", now, before)
		}
	})
}

func TestALeaseThatFailedHoldsNobodyUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		w.die(leaseIDs[0])
		w.ends(t, failed, success, failure)
		w.push()
		if r := w.plane.routes()[name(leaseIDs[0], "app", 0, 1)]; r.Hold != 0 {
			t.Errorf("its route is %+v", r)
		}
	})
}

func TestAddressesOfBeforeARebootAreNotUsed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		w.machine = "boot-2"
		w.open()
		host := name(leaseIDs[0], "app", 0, 1)
		w.push()
		if r := w.plane.routes()[host]; len(r.Targets) != 0 || r.Hold == 0 {
			t.Errorf("before anybody has looked: %+v", r)
		}
		if !w.wait(func() bool { return len(w.plane.routes()[host].Targets) == 1 }) {
			t.Error("it is not used again once it was seen")
		}
	})
}

// What is given up is first not asked any more, and goes then.
func TestARouteLeavesBeforeWhatItLeadsTo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		w.push()
		if err := deprovision(w); err != nil {
			t.Fatal(err)
		}
		if len(w.Routes()) != 0 {
			t.Errorf("the routes still have it: %+v", w.Routes())
		}
		for range 5 { // nobody has pushed them
			if _, err := w.Step(t.Context(), leaseIDs[0]); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(w.Workloads(leaseIDs[0])); n != 1 {
			t.Fatalf("%d workloads are left while requests are sent to them", n)
		}
		w.ends(t, none, success, deprovisioned)
	})
}

func TestALeaseGoesThoughTheDataPlaneDoesNotAnswer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		after(provision(one(1), serves(1)))(w)
		w.push()
		w.plane.set(func(p *plane) { p.down = true })
		began := time.Now()
		if err := deprovision(w); err != nil {
			t.Fatal(err)
		}
		w.wait(func() bool { return len(w.Workloads(leaseIDs[0])) == 0 })
		if took := time.Since(began); took < 20*time.Second || took > 30*time.Second {
			t.Errorf("it took %s", took)
		}
		w.ends(t, none, success, deprovisioned)
	})
}

// Two names may have one hash. The table that has both would be refused whole.
func TestOfTwoRoutesForOneHostTheOlderLeaseHasIt(t *testing.T) {
	g := &hosting.Ingress{Wildcard: wildcard}
	routes := g.RoutesOfTwins(leaseIDs[1])
	seen := map[string]string{}
	for _, r := range routes {
		if other := seen[r.Host]; other != "" {
			t.Errorf("%s is of %s and %s", r.Host, other, r.Lease)
		}
		seen[r.Host] = r.Lease
	}
	if len(routes) != 1 || routes[0].Lease != leaseIDs[1] {
		t.Errorf("%+v", routes)
	}
}

func TestWithoutIngressThereAreNoNames(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.noDomains = true
		w.open()
		after(provision(one(1), serves(1)))(w)
		info, err := w.GetInfo(t.Context(), leaseIDs[0])
		if err != nil || info.FQDN != "" || info.Instances[0].FQDN != "" || len(w.Routes()) != 0 {
			t.Errorf("%+v, %v", info, err)
		}
		row, _ := w.store.Get(context.Background(), "leases/"+leaseIDs[0])
		if strings.Contains(string(row.Value), "seen") {
			t.Errorf("the row has ways in: %s", row.Value)
		}
		if err := deprovision(w); err != nil {
			t.Fatal(err)
		}
		w.ends(t, none, success, deprovisioned)
	})
}

func TestAnIngressWithoutItsPartsIsRefused(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, g := range []*hosting.Ingress{{}, {Gate: w.plane}, {Router: w.plane}} {
			if err := hosting.CheckIngress(g); err == nil {
				t.Errorf("%+v is taken", g)
			}
		}
	})
}

func items(lease string, domain string) []backend.LeaseItem {
	return []backend.LeaseItem{{SKU: micro, Quantity: 1, CustomDomain: domain}}
}

// An engine that overlooks a container once takes no route away: nobody would tell that
// it is there.
func TestAContainerThatIsOverlookedOnceKeepsItsRoute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := leaseIDs[0]
		if err := w.Provision(t.Context(), provisionRequest(a, one(2), alone(serves(1)))); err != nil {
			t.Fatal(err)
		}
		w.until("ready", func() bool { return w.rest() && w.status(a) == ready })
		want := w.Routes()
		for call := 1; call <= 6; call++ {
			w.cluster.Script(memory.Fault{Call: call, Kind: memory.Lie})
			told := 0
			for range 4 {
				if _, err := w.Step(t.Context(), a); err != nil {
					t.Fatal(err)
				}
				if got := w.Routes(); !reflect.DeepEqual(got, want) {
					told++
				}
			}
			if told > 0 {
				t.Errorf("a lie at look %d takes a route away for %d of 4 looks: %+v", call, told, w.Routes())
			}
			w.rest()
		}
	})
}
