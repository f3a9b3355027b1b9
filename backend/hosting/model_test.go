package hosting_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/provider/memory"
)

// unhurried hides the deadline of a test, which may not be asked for on virtual time.
type unhurried struct{ testing.TB }

// scoped is a test whose cleanups belong to one check.
type scoped struct {
	testing.TB
	check *rapid.T
}

func (s scoped) Cleanup(f func())        { s.check.Cleanup(f) }
func (s scoped) Fatal(args ...any)       { s.check.Fatal(args...) }
func (s scoped) Error(args ...any)       { s.check.Error(args...) }
func (s scoped) Logf(f string, a ...any) { s.check.Logf(f, a...) }

// Random requests, faults of the provider, of the store and of the outbox, workloads
// that fail or vanish, and kills: whatever comes, each lease is at rest what the
// requests that were accepted make of it.
func TestHostingAgreesWithTheModel(t *testing.T) {
	seen, steps, kills := map[backend.ProvisionStatus]int{}, 0, 0
	restores, finds, ages := 0, 0, 0
	inBatches(t, func(t *testing.T) {
		rapid.Check(unhurried{t}, func(r *rapid.T) {
			m := &model{world: newWorld(scoped{t, r}), leases: map[string]*modelLease{}, kept: map[string][]*modelLease{}}
			m.retention = hosting.Retention{OnClose: rapid.IntRange(0, 3).Draw(r, "retains") > 0, Grace: 1000 * time.Hour}
			m.world.guard, m.world.leave = &m.gate, time.Second
			m.open()
			for _, lease := range modelLeases {
				m.leases[lease] = &modelLease{}
			}
			if rapid.Bool().Draw(r, "begins with what is retained") {
				m.begin(r)
			}
			acts := map[string]func(*rapid.T){"": m.check}
			for name, act := range map[string]func(*rapid.T, string){
				"provision": m.provision, "provision again": m.provision, "restart": m.restart, "update": m.update, "deprovision": m.deprovision,
				"update again": m.update, "update more": m.update, "restart again": m.restart, "domain": m.domain, "step": m.step, "step more": m.step, "die": m.die, "vanish": m.vanish,
				"restore": m.restore, "restore again": m.restore, "restore more": m.restore, "close": m.close,
			} {
				acts[name] = func(r *rapid.T) {
					steps++
					act(r, rapid.SampledFrom(modelLeases).Draw(r, "lease"))
				}
			}
			acts["kill"] = func(*rapid.T) { steps++; kills++; m.proc.dead.Store(true); m.revive() }
			acts["fault"] = func(r *rapid.T) { steps++; m.fault(r) }
			acts["rest"] = func(r *rapid.T) { steps++; m.settle(r) }
			acts["rest more"] = acts["rest"]
			acts["guard"] = func(*rapid.T) { steps++; m.gate.fails.Store(!m.gate.fails.Load()) }
			acts["plane"] = func(*rapid.T) { steps++; m.plane.set(func(p *plane) { p.down, p.excused = !p.down, true }) }
			acts["drain"] = func(r *rapid.T) { steps++; m.drain(r) }
			acts["clock"] = func(r *rapid.T) { steps++; m.skip(-time.Duration(rapid.IntRange(1, 10000).Draw(r, "s")) * time.Second) }
			acts["push"] = func(*rapid.T) { steps++; m.push() }
			acts["age"] = func(r *rapid.T) { steps++; m.age(r) }
			r.Repeat(acts)
			m.settle(r)
			for status, n := range m.past.seen {
				seen[status] += n
			}
			restores, finds, ages = restores+m.restores, finds+m.finds, ages+m.ages
		})
	})
	t.Logf("%d steps, %d kills, %d restores of which %d were looked into, %d times something was too old, states reached: %v", steps, kills, restores, finds, ages, seen)
	if steps > 1000 && (restores == 0 || finds == 0 || ages == 0) {
		t.Error("not all was seen")
	}
	for status := range table {
		if seen[status] == 0 && steps > 1000 { // fewer are for a look at one history
			t.Errorf("%q was never reached", status)
		}
	}
}

// inBatches has as many histories tried as a flag says, a few at a time: each batch has a
// virtual time of its own, of which one test has a day.
func inBatches(t *testing.T, check func(t *testing.T)) {
	t.Helper()
	const batch = 50
	all := flag.Lookup("rapid.checks").Value.String()
	left, err := strconv.Atoi(all)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = flag.Set("rapid.checks", all) }()
	for ; left > 0 && !t.Failed(); left -= batch {
		if err := flag.Set("rapid.checks", strconv.Itoa(min(left, batch))); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, check)
	}
}

// modelLeases are more than others need: what is retained waits for a lease.
var modelLeases = append(slices.Clone(leaseIDs), "0190a1b2-0000-7000-8000-000000000004")

type model struct {
	*world
	leases map[string]*modelLease
	kept   map[string][]*modelLease // what is retained, by the lease that left it, the last one last

	gate     gate
	draining bool
	faulty   bool // a fault was set up since it was at rest
	lives    int

	restores, finds, ages int
}

// modelLease is what a lease should come to.
type modelLease struct {
	want     backend.ProvisionStatus // at rest; none is that there is no such lease
	image    string                  // that serves, or served last; "" when none did in this life
	items    []backend.LeaseItem
	vanished bool // the provider forgot its workloads
	domain   string
	from     string      // the lease whose volumes it is restored with
	was      *modelLease // that lease
	finds    map[string]string
	began    time.Time // of those that left something
	turn     int       // in which they did
}

// quiet makes a request, and reports whether it was accepted. One that the store
// failed for was, when its row is another.
func (m *model) quiet(r *rapid.T, lease string, request func(context.Context) error) (accepted bool, refusal error) {
	before, _ := m.store.Get(context.Background(), "leases/"+lease)
	m.struck = false
	err := request(context.Background())
	after, _ := m.store.Get(context.Background(), "leases/"+lease)
	changed := !bytes.Equal(before.Value, after.Value)
	switch {
	case err == nil, m.struck:
		return changed, nil
	case changed:
		r.Fatalf("lease %s was refused with %v, and is another one", lease, err)
	}
	return false, err
}

func (m *model) provision(r *rapid.T, lease string) {
	l := m.leases[lease]
	items := rapid.SampledFrom([][]backend.LeaseItem{one(1), one(2), one(0), three(), onDisk(one(1)), onDisk(one(2)), onDisk(three())}).Draw(r, "items")
	service, good := m.service(r)
	status := m.status(lease)
	ok, refusal := m.quiet(r, lease, func(ctx context.Context) error {
		return m.Provision(ctx, provisionRequest(lease, items, manifestFor(items, service)))
	})
	may := status == none || status == failed || status == failing
	if m.refuses(r, ok, refusal) {
		return
	}
	if refusal != nil && (may || !errors.Is(refusal, backend.ErrAlreadyProvisioned)) {
		r.Fatalf("lease %s is %q, and Provision says %v", lease, status, refusal)
	}
	if !ok {
		return
	}
	if !may {
		r.Fatalf("lease %s is %q, and was provisioned", lease, status)
	}
	next := modelLease{want: ready, image: "program:1", items: items}
	if status != none { // what it had is still its own
		next.finds = l.finds
	}
	*l = next
	if !good && items[0].Quantity > 0 {
		l.want, l.image = failed, ""
	} else if !good || service == serves(2) {
		l.image = "program:2"
	}
}

// drain has leases be taken no more, or again. A fault may strike it.
func (m *model) drain(r *rapid.T) {
	on := !m.draining
	for range 5 {
		m.revive()
		if d, err := m.Drain(context.Background(), on); err == nil && d.On == on {
			m.draining = on
			return
		}
	}
	r.Fatal("whether leases are taken cannot be set")
}

// refuses reports whether a lease was refused because none is taken.
func (m *model) refuses(r *rapid.T, ok bool, refusal error) bool {
	if ok && m.draining {
		r.Fatal("a lease came in while none is taken")
	}
	if !errors.Is(refusal, backend.ErrInsufficientResources) {
		return false
	}
	if !m.draining {
		r.Fatalf("leases are taken, and one is refused: %v", refusal)
	}
	return true
}

// service is one that comes up, or does not.
func (m *model) service(r *rapid.T) (service string, good bool) {
	service = rapid.SampledFrom([]string{serves(1), serves(2), breaks}).Draw(r, "service")
	return service, service != breaks
}

// replace is what Restart and Update share.
func (m *model) replace(r *rapid.T, lease string, request func(context.Context) error) bool {
	l, status := m.leases[lease], m.status(lease)
	// Whether it has a release that served is known for what is at rest.
	may := status == ready || status == failing || status == failed && l.image != ""
	ok, refusal := m.quiet(r, lease, request)
	if refusal != nil {
		want := backend.ErrInvalidState
		if status == none {
			want = backend.ErrNotProvisioned
		}
		if may || !errors.Is(refusal, want) {
			r.Fatalf("lease %s is %q, and to replace it says %v", lease, status, refusal)
		}
	}
	if ok && !may {
		r.Fatalf("lease %s is %q, and was replaced", lease, status)
	}
	return ok
}

func (m *model) restart(r *rapid.T, lease string) {
	ok := m.replace(r, lease, func(ctx context.Context) error {
		return m.Restart(ctx, backend.RestartRequest{LeaseUUID: lease, CallbackURL: callbackURL})
	})
	if l := m.leases[lease]; ok {
		l.want = ready
		if l.vanished {
			l.want = failed
		}
	}
}

func (m *model) update(r *rapid.T, lease string) {
	l := m.leases[lease]
	if l.items == nil {
		r.Skip("it was never provisioned")
	}
	service, good := m.service(r)
	ok := m.replace(r, lease, func(ctx context.Context) error {
		return m.Update(ctx, backend.UpdateRequest{LeaseUUID: lease, CallbackURL: callbackURL, Payload: manifestFor(l.items, service)})
	})
	switch {
	case !ok:
	case l.vanished:
		l.want = failed
	default:
		l.want = ready
		if service == serves(1) {
			l.image = "program:1"
		} else if good || l.items[0].Quantity == 0 {
			l.image = "program:2"
		}
	}
}

func (m *model) deprovision(r *rapid.T, lease string) {
	status := m.status(lease)
	if info, err := m.GetProvision(context.Background(), lease); err == nil {
		m.leases[lease].began = info.CreatedAt
	}
	has, image, items := m.hasVolumes(lease), m.served(lease), m.servedItems(lease)
	ok, refusal := m.quiet(r, lease, func(ctx context.Context) error { return m.Deprovision(ctx, lease) })
	if refusal != nil {
		r.Fatalf("lease %s is %q, and Deprovision says %v", lease, status, refusal)
	}
	if ok {
		m.leases[lease].image, m.leases[lease].items = image, items // what was on its way does not come
		m.lives++                                                   // so that a domain is not asked for by who lives on and by who is restored
		m.leave(lease, m.leases[lease], has && status != deprovisioning)
		*m.leases[lease] = modelLease{}
	}
}

// begin has a lease leave what others may restore.
func (m *model) begin(r *rapid.T) {
	lease := modelLeases[3]
	items := rapid.SampledFrom([][]backend.LeaseItem{onDisk(one(2)), onDisk(three())}).Draw(r, "items")
	if err := m.Provision(context.Background(), provisionRequest(lease, items, manifestFor(items, serves(1)))); err != nil {
		r.Fatal(err)
	}
	*m.leases[lease] = modelLease{want: ready, image: "program:1", items: items}
	m.settle(r)
	m.deprovision(r, lease)
	m.settle(r)
}

// served is what serves of a lease, or served last.
func (m *model) served(lease string) string {
	all, _ := m.GetReleases(context.Background(), lease)
	for _, rel := range slices.Backward(all) {
		if rel.Status == backend.ReleaseStatusActive || rel.Status == backend.ReleaseStatusSuperseded {
			return short(rel.Image)
		}
	}
	return ""
}

// servedItems are those with which a lease was ready.
func (m *model) servedItems(lease string) []backend.LeaseItem {
	rec, _ := m.store.Get(context.Background(), "leases/"+lease)
	var row struct {
		Items []backend.LeaseItem `json:"items"`
		Was   []backend.LeaseItem `json:"was"`
	}
	_ = json.Unmarshal(rec.Value, &row)
	if row.Was != nil {
		return row.Was
	}
	return row.Items
}

// close gives up a lease that has volumes.
func (m *model) close(r *rapid.T, lease string) {
	if m.status(lease) != ready || !m.hasVolumes(lease) {
		r.Skip("nothing would be retained")
	}
	m.deprovision(r, lease)
}

// leave is what becomes of the volumes of a lease that is given up.
func (m *model) leave(lease string, l *modelLease, has bool) {
	switch lived := m.past.served(lease); {
	case l.from != "" && !lived:
		m.kept[l.from] = append(m.kept[l.from], l.was)
		slices.SortFunc(m.kept[l.from], func(a, b *modelLease) int { return a.turn - b.turn })
	case lived && has && m.retention.OnClose:
		m.kept[lease] = append(m.kept[lease], &modelLease{items: l.items, image: l.image, finds: l.finds, began: l.began, turn: m.lives, domain: l.domain})
	}
}

// restore has a lease take over what another one left.
func (m *model) restore(r *rapid.T, lease string) {
	from := rapid.SampledFrom(append(slices.Sorted(maps.Keys(m.kept)), lease)).Draw(r, "from")
	var was *modelLease
	for _, l := range m.kept[from] { // an earlier life, where the last one is on its way out
		if l.began.Equal(m.LeftLife(from)) {
			was = l
		}
	}
	if was != nil && rapid.IntRange(0, 4).Draw(r, "any") > 0 { // to one that is free, if there is any
		if free := slices.IndexFunc(modelLeases, func(l string) bool { return m.status(l) == none }); free >= 0 {
			lease = modelLeases[free]
		}
	}
	if lease == from {
		r.Skip("a lease is restored to another one")
	}
	items := onDisk(one(1))
	if was != nil {
		items = onDisk(slices.Clone(was.items))
		items[0].CustomDomain = rapid.SampledFrom([]string{"", was.domain}).Draw(r, "domain")
	}
	status, left, claimed := m.status(lease), m.Left(from) && was != nil, m.Claimed(from)
	ok, refusal := m.quiet(r, lease, func(ctx context.Context) error {
		return m.Restore(ctx, backend.RestoreRequest{LeaseUUID: lease, FromLeaseUUID: from, Tenant: "tenant-a", Items: items, CallbackURL: callbackURL})
	})
	if m.refuses(r, ok, refusal) {
		return
	}
	may := status == none && left && !claimed
	known := errors.Is(refusal, backend.ErrAlreadyProvisioned) || errors.Is(refusal, backend.ErrNotRetained) || errors.Is(refusal, backend.ErrInvalidState)
	if refusal != nil && (may && !errors.Is(refusal, backend.ErrInvalidState) || !known) {
		r.Fatalf("lease %s is %q, %s has left something: %t, claimed: %t, and Restore says %v", lease, status, from, left, claimed, refusal)
	}
	if !ok {
		return
	}
	if status != none || !left {
		r.Fatalf("lease %s is %q, %s has left something: %t, claimed: %t, and it is restored", lease, status, from, left, claimed)
	}
	m.restores++
	*m.leases[lease] = modelLease{want: ready, image: was.image, items: items, from: from, was: was, finds: was.finds, domain: items[0].CustomDomain}
	m.kept[from] = slices.DeleteFunc(m.kept[from], func(l *modelLease) bool { return l == was })
	if len(m.kept[from]) == 0 {
		delete(m.kept, from)
	}
}

// age has the time pass for which anything is retained.
func (m *model) age(r *rapid.T) {
	if len(m.kept) > 0 && rapid.IntRange(0, 3).Draw(r, "young") > 0 {
		r.Skip("it is to be restored")
	}
	m.settle(r)
	m.ages += len(m.kept)
	m.plane.set(func(p *plane) { p.excused = true })
	m.skip(1500 * time.Hour) // the clock may have gone back meanwhile
	clear(m.kept)
	m.settle(r)
}

func (m *model) domain(r *rapid.T, lease string) {
	l, status := m.leases[lease], m.status(lease)
	items := slices.Clone(l.items)
	if items == nil {
		items = one(1)
	}
	items[0].CustomDomain = rapid.SampledFrom([]string{"", fmt.Sprintf("a%d-%s.example.org", m.lives, lease), fmt.Sprintf("b%d-%s.example.org", m.lives, lease)}).Draw(r, "domain")
	ok, refusal := m.quiet(r, lease, func(ctx context.Context) error { return m.ReconcileCustomDomain(ctx, lease, items) })
	switch {
	case refusal != nil:
		r.Fatalf("domains of a lease that is %q: %v", status, refusal)
	case ok && status != ready:
		r.Fatalf("lease %s is %q, and has another domain", lease, status)
	case ok:
		l.domain = items[0].CustomDomain
	}
}

func (m *model) step(r *rapid.T, _ string) {
	m.push()
	leases, _ := m.Leases(context.Background())
	for _, lease := range leases {
		_, _ = m.Step(context.Background(), lease)
	}
	<-time.After(time.Duration(rapid.IntRange(1, 300).Draw(r, "ms")) * time.Millisecond)
}

func (m *model) die(r *rapid.T, lease string) {
	l := m.leases[lease]
	if m.status(lease) != ready || len(m.Workloads(lease)) == 0 || l.want != ready {
		r.Skip("nothing serves")
	}
	m.world.die(lease)
	l.want = failed
}

func (m *model) vanish(r *rapid.T, lease string) {
	l := m.leases[lease]
	if m.status(lease) != ready || len(m.Workloads(lease)) == 0 || l.want != ready {
		r.Skip("nothing serves")
	}
	m.forgetAtProvider(lease)
	l.want, l.vanished = failed, true
}

// fault has something go wrong once.
func (m *model) fault(r *rapid.T) {
	m.faulty = true
	n := rapid.IntRange(1, 8).Draw(r, "call")
	kinds := []memory.FaultKind{0, 0, memory.FailBefore, memory.FailAfter, memory.Hang, memory.Lie, memory.CutBefore, memory.CutAfter}
	if kind := rapid.SampledFrom(kinds).Draw(r, "kind"); kind != 0 {
		m.cluster.Script(memory.Fault{Call: n, Kind: kind})
		m.cuts = kind == memory.CutBefore || kind == memory.CutAfter
		return
	}
	dies := rapid.Bool().Draw(r, "dies")
	m.onMoments(func(i int, _ string) (error, bool) {
		if i != n {
			return nil, false
		}
		m.struck = true
		return errKilled, dies
	})
}

// check is after every step.
func (m *model) check(r *rapid.T) {
	m.revive()
	if wrong := m.past.faults(); len(wrong) > 0 {
		r.Fatal(wrong)
	}
	if m.Draining().On != m.draining {
		r.Fatalf("whether leases are taken is forgotten: %+v, want %t", m.Draining(), m.draining)
	}
	// What becomes of a write that failed is found by whoever looks first, and counted
	// with the lease's next step.
	if !m.faulty && !m.InDoubt() {
		m.checkPool(r)
	}
	for lease := range m.leases {
		want := m.past.of(lease)
		if got := m.sent(lease); len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			r.Fatalf("lease %s sent %v; want %v", lease, got, want)
		}
	}
}

// settle lets everything come to rest, and holds it against the model.
func (m *model) settle(r *rapid.T) {
	m.gate.fails.Store(false)
	m.plane.set(func(p *plane) { p.down = false })
	if m.draining {
		m.drain(r)
	}
	calm := func() bool {
		m.check(r)
		if waiting, _ := m.out.Pending(context.Background()); m.Busy() || len(waiting) > 0 {
			return false
		}
		for lease, l := range m.leases {
			if m.status(lease) != l.want {
				return false
			}
		}
		return true
	}
	if !m.wait(calm) {
		for lease, l := range m.leases {
			row, _ := m.store.Get(context.Background(), "leases/"+lease)
			r.Errorf("lease %s is %q; want %q: %s", lease, m.status(lease), l.want, row.Value)
		}
		r.Fatal("it does not come to rest")
	}
	m.checkRest(r, modelLeases...)
	m.checkRoutes(r)
	m.faulty = m.faulty && !m.struck
	m.checkKept(r)
	for lease, l := range m.leases {
		m.checkReleases(r, lease, l)
	}
}

// checkRoutes has requests be sent to what serves now, and to nothing else.
func (m *model) checkRoutes(r *rapid.T) {
	m.push()
	m.plane.set(func(p *plane) { p.excused = false })
	wrong := ""
	for range 4 { // a fault of the test may strike the look
		m.revive()
		if wrong = m.wrongRoute(); wrong == "" {
			return
		}
	}
	r.Fatal(wrong)
}

func (m *model) wrongRoute() string {
	for host, route := range m.plane.routes() {
		l := m.leases[route.Lease]
		if l == nil || l.want == none || l.image == "" {
			return fmt.Sprintf("%s leads to lease %s, which is not there", host, route.Lease)
		}
		own := m.addresses(route.Lease)
		for _, target := range route.Targets {
			if !slices.Contains(own, target.Address) {
				return fmt.Sprintf("%s of lease %s leads to %s; it has %v", host, route.Lease, target.Address, own)
			}
		}
		if l.want == ready && len(route.Targets) == 0 {
			return fmt.Sprintf("%s of lease %s, which is ready, leads nowhere", host, route.Lease)
		}
	}
	return ""
}

// addresses are those of what runs of a lease, as the provider says.
func (m *model) addresses(lease string) []netip.AddrPort {
	var out []netip.AddrPort
	for _, instance := range m.Workloads(lease) {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		st, err := m.provider().Status(ctx, instance)
		cancel()
		if err != nil {
			continue
		}
		for _, e := range st.Endpoints {
			if u, err := url.Parse(e.URL); err == nil {
				if at, err := netip.ParseAddrPort(u.Host); err == nil {
					out = append(out, at)
				}
			}
		}
	}
	return out
}

// checkKept holds what is retained against the model.
func (m *model) checkKept(r *rapid.T) {
	all, err := m.ListRetentions(context.Background())
	if err != nil || len(all) != len(m.kept) {
		r.Fatalf("there are retained %v, %v; want those of %v", all, err, m.kept)
	}
	for _, one := range all {
		all := m.kept[one.LeaseUUID]
		if len(all) == 0 {
			r.Fatalf("lease %s is retained", one.LeaseUUID)
		}
		was := all[len(all)-1]
		if m.status(one.LeaseUUID) != none {
			continue // it lives again
		}
		info, err := m.GetProvision(context.Background(), one.LeaseUUID)
		if err != nil || info.Status != backend.ProvisionStatusRetained || info.Items[0].Quantity != was.items[0].Quantity || info.RetainedUntil.IsZero() {
			r.Fatalf("what is retained of lease %s is %+v, %v", one.LeaseUUID, info, err)
		}
	}
}

// checkFinds holds what is in the volumes of a lease against what was there before.
func (m *model) checkFinds(r *rapid.T, lease string, l *modelLease) {
	now := m.found(lease)
	if l.items[0].SKU != disk {
		return
	}
	for name, stamp := range now {
		if before := l.finds[name]; stamp == "" || before != "" && before != stamp {
			r.Fatalf("%s of lease %s finds %q in its volume; want %q", name, lease, stamp, before)
		} else if before != "" && l.from != "" {
			m.finds++
		}
	}
	if l.finds == nil {
		l.finds = map[string]string{}
	}
	maps.Copy(l.finds, now)
}

// checkReleases holds what serves against the model.
func (m *model) checkReleases(r *rapid.T, lease string, l *modelLease) {
	if l.want == none {
		return
	}
	all, err := m.GetReleases(context.Background(), lease)
	if err != nil {
		r.Fatal(err)
	}
	active := ""
	for _, rel := range all {
		switch rel.Status {
		case backend.ReleaseStatusActive:
			active += short(rel.Image)
		case backend.ReleaseStatusDeploying:
			r.Fatalf("at rest release %d of lease %s is on its way", rel.Version, lease)
		}
	}
	want := l.image
	if want == "program:2" && len(l.items) == 3 {
		want = "program:1,program:2"
	}
	if active != want {
		r.Fatalf("what serves of lease %s is %q; want %q", lease, active, want)
	}
	info, err := m.GetProvision(context.Background(), lease)
	if err != nil {
		r.Fatal(err)
	}
	// What is asked for while nothing serves waits.
	if served := l.want == ready && l.items[0].Quantity > 0; served && info.Items[0].CustomDomain != l.domain {
		r.Fatalf("the domain of lease %s is %q, %v; want %q", lease, info.Items[0].CustomDomain, err, l.domain)
	}
	if l.want == ready {
		m.checkReplicas(r, lease, l)
		m.checkFinds(r, lease, l)
	}
}

// checkReplicas holds what runs against what was leased. A fault may strike a look.
func (m *model) checkReplicas(r *rapid.T, lease string, l *modelLease) {
	got := map[string]int{}
	agrees := func() bool {
		m.revive()
		info, err := m.GetInfo(context.Background(), lease)
		if err != nil {
			return false
		}
		for _, item := range l.items {
			if got[item.ServiceName] = len(info.Services[item.ServiceName].Instances); got[item.ServiceName] != item.Quantity {
				return false
			}
		}
		return true
	}
	if !m.wait(agrees) {
		r.Fatalf("of lease %s there run %v; want %v", lease, got, l.items)
	}
}
