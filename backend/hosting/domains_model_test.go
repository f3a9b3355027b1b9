package hosting_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/resolvable"
)

// Wishes, a gate that says one thing and another, a data plane that comes and goes,
// others who claim and let go, changes of the leases, and kills: no host has two
// owners, no lease loses a name for another's sake, what is taken away is gone, and at
// rest everybody has what was asked for, but for what somebody else has.
func TestDomainsAgreeWithTheModel(t *testing.T) {
	seen := map[string]int{}
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(unhurried{t}, func(r *rapid.T) {
			if rapid.IntRange(0, 6).Draw(r, "whether") != 0 {
				return // a history of these takes long: one in seven is made
			}
			m := &domainModel{world: newWorld(scoped{t, r}), wants: map[string]string{}, removed: map[string]bool{}, seen: seen}
			m.world.ask, m.world.leave = 4*time.Millisecond, time.Second
			m.open()
			for _, lease := range leaseIDs {
				m.bring(r, lease)
			}
			m.settle(r)
			acts := map[string]func(*rapid.T){"": m.check}
			for name, act := range map[string]func(*rapid.T){
				"wish": m.wish, "wish more": m.wish, "wish again": m.wish, "remove": m.remove, "gate": m.gate, "others": m.claim, "plane": m.flap,
				"push": m.pushes, "push more": m.pushes, "step": m.step, "step more": m.step, "kill": m.kill, "change": m.change, "give up": m.giveUp,
			} {
				acts[name] = act
			}
			r.Repeat(acts)
			m.settle(r)
		})
	})
	t.Logf("reached: %v", seen)
	for _, what := range []string{"served", "taken by a lease", "taken by others", "unresolved", "removed"} {
		if seen[what] == 0 && seen["rest"] > 100 {
			t.Errorf("%s was never reached", what)
		}
	}
}

var modelDomains = []string{"a.example.org", "b.example.org"}

type domainModel struct {
	*world
	wants   map[string]string // what each lease asked for last
	removed map[string]bool   // leases that asked for none since
	seen    map[string]int
}

func (m *domainModel) bring(r *rapid.T, lease string) {
	if err := m.Provision(context.Background(), provisionRequest(lease, one(1), alone(serves(1)))); err != nil {
		r.Fatal(err)
	}
	m.wants[lease], m.removed[lease] = "", true
}

func (m *domainModel) ask(r *rapid.T, lease, domain string) {
	if m.status(lease) != ready {
		r.Skip("it is not ready")
	}
	if err := m.ReconcileCustomDomain(context.Background(), lease, items(lease, domain)); err != nil {
		r.Fatal(err)
	}
	m.wants[lease], m.removed[lease] = domain, domain == ""
}

func (m *domainModel) wish(r *rapid.T) {
	m.ask(r, rapid.SampledFrom(leaseIDs).Draw(r, "lease"), rapid.SampledFrom(modelDomains).Draw(r, "domain"))
}

func (m *domainModel) remove(r *rapid.T) {
	m.ask(r, rapid.SampledFrom(leaseIDs).Draw(r, "lease"), "")
}

func (m *domainModel) gate(r *rapid.T) {
	domain := rapid.SampledFrom(modelDomains).Draw(r, "domain")
	says := rapid.SampledFrom([]error{nil, nil, resolvable.ErrNoAddress, resolvable.ErrUnanswered}).Draw(r, "says")
	m.plane.set(func(p *plane) { p.dns[domain] = says })
}

// claim has somebody else take a host, or let it go. One that is served cannot be
// taken: its second owner is refused.
func (m *domainModel) claim(r *rapid.T) {
	domain := rapid.SampledFrom(modelDomains).Draw(r, "domain")
	m.plane.set(func(p *plane) {
		if _, ours := p.table[domain]; !ours || p.others[domain] {
			p.others[domain] = !p.others[domain]
		}
	})
}

func (m *domainModel) flap(*rapid.T) { m.plane.set(func(p *plane) { p.down = !p.down }) }

func (m *domainModel) pushes(r *rapid.T) {
	if wrong := m.plane.sync(m.Routes()); len(wrong) > 0 {
		r.Fatal(wrong)
	}
	if m.plane.down {
		return
	}
	table := m.plane.routes()
	for _, lease := range leaseIDs {
		mine := m.hostsOf(lease)
		if host := name(lease, "app", 0, 1); m.status(lease) == ready && !slices.Contains(mine, host) {
			r.Fatalf("lease %s has lost its name; the table is %v", lease, table)
		}
		if m.removed[lease] && len(mine) > 1 {
			r.Fatalf("lease %s gave its domain up, and has %v", lease, mine)
		}
		// What it has is served, unless somebody else came when it was not.
		if d := m.has(lease); d != "" && m.status(lease) == ready && !m.plane.others[d] && table[d].Lease != lease && !slices.Contains(mine, m.wants[lease]) {
			r.Fatalf("lease %s has %s, which leads to %q", lease, d, table[d].Lease)
		}
	}
}

func (m *domainModel) has(lease string) string {
	if m.status(lease) == none {
		return ""
	}
	return m.domain(lease)
}

func (m *domainModel) step(r *rapid.T) {
	for _, lease := range leaseIDs {
		_, _ = m.Step(context.Background(), lease)
	}
	<-time.After(time.Duration(rapid.IntRange(1, 2000).Draw(r, "ms")) * time.Millisecond)
}

func (m *domainModel) kill(*rapid.T) { m.proc.dead.Store(true); m.revive() }

// change replaces the instances of a lease.
func (m *domainModel) change(r *rapid.T) {
	lease := rapid.SampledFrom(leaseIDs).Draw(r, "lease")
	if m.status(lease) != ready {
		r.Skip("it is not ready")
	}
	if err := m.Restart(context.Background(), backend.RestartRequest{LeaseUUID: lease, CallbackURL: callbackURL}); err != nil {
		r.Fatal(err)
	}
}

// giveUp ends a lease and begins it anew once it is gone.
func (m *domainModel) giveUp(r *rapid.T) {
	lease := rapid.SampledFrom(leaseIDs).Draw(r, "lease")
	if err := m.Deprovision(context.Background(), lease); err != nil {
		r.Fatal(err)
	}
	m.wants[lease], m.removed[lease] = "", true
	if !m.wait(func() bool { return m.status(lease) == none }) {
		r.Fatalf("lease %s does not go", lease)
	}
	m.bring(r, lease)
}

func (m *domainModel) check(r *rapid.T) {
	taken := map[string]string{}
	for _, one := range m.Routes() {
		for _, host := range []string{one.Host, one.Instead} {
			if other := taken[host]; other != "" && host != "" {
				r.Fatalf("%s is of %s and %s", host, other, one.Name)
			}
			taken[host] = one.Name
		}
	}
	for _, lease := range leaseIDs {
		if d := m.has(lease); d != "" && m.removed[lease] {
			r.Fatalf("lease %s gave its domain up, and has %s", lease, d)
		}
	}
}

// settle has the data plane answer for long enough, its holder asking all the time, and
// then looks who has what.
func (m *domainModel) settle(r *rapid.T) {
	m.plane.set(func(p *plane) { p.down = false })
	if !m.wait(func() bool { return !m.Busy() && m.allReady() }) {
		r.Fatal("it does not come to rest")
	}
	for range 2 { // what somebody let go meanwhile, another one gets
		began := time.Now()
		m.wait(func() bool { return time.Since(began) > 300*time.Millisecond })
		for _, lease := range leaseIDs {
			m.ask(r, lease, m.wants[lease])
		}
		if !m.wait(func() bool { return !m.Busy() }) {
			r.Fatal("it does not come to rest")
		}
	}
	m.pushes(r)
	m.seen["rest"]++
	owners := map[string]string{}
	for _, lease := range leaseIDs {
		d := m.has(lease)
		if other := owners[d]; d != "" && other != "" {
			r.Fatalf("%s is of %s and %s", d, other, lease)
		}
		owners[d] = lease
	}
	for _, lease := range leaseIDs {
		m.excuse(r, lease, owners)
	}
}

// excuse finds out why a lease does not have what it asked for.
func (m *domainModel) excuse(r *rapid.T, lease string, owners map[string]string) {
	wanted := m.wants[lease]
	dns, others := maps.Clone(m.plane.dns), maps.Clone(m.plane.others)
	what := ""
	switch {
	case m.has(lease) == wanted && wanted == "":
		what = "removed"
	case m.has(lease) == wanted:
		what = "served"
	case owners[wanted] != "":
		what = "taken by a lease"
	case dns[wanted] != nil:
		what = "unresolved"
	case others[wanted]:
		what = "taken by others"
	case slices.Contains(slices.Collect(maps.Values(m.wants)), wanted) && m.wantedByTwo(wanted):
		what = "wanted by two"
	default:
		r.Fatalf("lease %s asked for %q and has %q: %s", lease, wanted, m.has(lease), m.why(lease))
	}
	m.seen[what]++
}

func (m *domainModel) wantedByTwo(domain string) bool {
	n := 0
	for _, d := range m.wants {
		if d == domain {
			n++
		}
	}
	return n > 1
}

func (m *domainModel) allReady() bool {
	for _, lease := range leaseIDs {
		if m.status(lease) != ready {
			return false
		}
	}
	return true
}
