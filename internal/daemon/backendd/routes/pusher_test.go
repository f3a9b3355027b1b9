package routes_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/internal/daemon/backendd/routes"
	"github.com/berth-cloud/berth/internal/ingress/controlclient"
	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/reconcile/ingress"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plane is a data plane that another owner has hosts on.
type plane struct {
	mu      sync.Mutex
	epoch   int
	table   table.Table
	pushes  int
	others  []string
	old     bool // a build that does not say which hosts
	flights map[string]int
	news    chan struct{} // closed with each change
	gone    bool
	slow    time.Duration // that a push takes
}

func newPlane() *plane { return &plane{news: make(chan struct{})} }

func (p *plane) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.news)
	p.news = make(chan struct{})
}

func (p *plane) Push(_ context.Context, t table.Table) (table.Ack, error) {
	if p.slow > 0 {
		<-time.After(p.slow)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return table.Ack{}, controlclient.ErrUnreachable
	}
	p.pushes++
	t.Normalize()
	if err := t.Validate(); err != nil {
		return table.Ack{}, err
	}
	if t.Version < p.table.Version {
		return table.Ack{}, table.ErrOldVersion
	}
	if t.Version == p.table.Version && fmt.Sprint(t.Routes) != fmt.Sprint(p.table.Routes) {
		return table.Ack{}, table.ErrSameVersion
	}
	theirs := table.Table{Owner: table.OwnerServer}
	for i, host := range p.others {
		theirs.Routes = append(theirs.Routes, table.Route{Service: fmt.Sprint("app-", i), Hosts: []string{host}, Path: "/"})
	}
	if err := t.CheckMerge(theirs); err != nil {
		if p.old {
			err = table.ErrClaimed
		}
		return table.Ack{}, err
	}
	p.table = t
	close(p.news)
	p.news = make(chan struct{})
	return table.Ack{Epoch: fmt.Sprint(p.epoch), Owner: t.Owner, Version: t.Version}, nil
}

func (p *plane) Reports(ctx context.Context, each func(table.Report) error) error {
	for {
		p.mu.Lock()
		r := table.Report{Epoch: fmt.Sprint(p.epoch), Versions: map[table.Owner]int64{}}
		if p.table.Version > 0 {
			r.Versions[table.OwnerBackend] = p.table.Version
		}
		for id, n := range p.flights {
			lease, _ := hosting.LeaseOf(id)
			r.Targets = append(r.Targets, table.TargetReport{ID: id, Service: hosting.RoutePrefix(lease) + "app", InFlight: n})
		}
		gone, news := p.gone, p.news
		p.mu.Unlock()
		if gone {
			return controlclient.ErrUnreachable
		}
		if err := each(r); err != nil {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// now is the version in use, and how often was pushed.
func (p *plane) now() (version int64, pushes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.table.Version, p.pushes
}

func (p *plane) hosts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []string{}
	for _, r := range p.table.Routes {
		out = append(out, r.Hosts...)
	}
	slices.Sort(out)
	return out
}

// rig is a pusher with its surroundings.
type rig struct {
	t     *testing.T
	plane *plane
	store *provider.MemoryStore
	*routes.Pusher
	end func()

	mu     sync.Mutex
	routes []hosting.Route
	woken  []string
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, plane: newPlane(), store: provider.NewMemoryStore()}
	r.start()
	t.Cleanup(func() { r.end() })
	return r
}

// start is a new process.
func (r *rig) start() {
	r.Pusher = routes.New(routes.Config{
		Plane: r.plane, Store: r.store, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Facts: func(context.Context) (ingress.Facts, error) {
			return ingress.Facts{BootID: "boot", EngineStart: "1@1"}, nil
		},
		Wake: func(lease string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.woken = append(r.woken, lease)
		},
	})
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.Run(ctx, func() []hosting.Route { r.mu.Lock(); defer r.mu.Unlock(); return slices.Clone(r.routes) })
	}()
	r.end = func() { cancel(); <-ended }
	synctest.Wait()
}

func (r *rig) restart() { r.end(); r.start() }

// want makes these the routes.
func (r *rig) want(all ...hosting.Route) {
	r.mu.Lock()
	r.routes = all
	r.mu.Unlock()
	r.Changed()
	synctest.Wait()
}

func (r *rig) has(what string, hosts ...string) {
	r.t.Helper()
	synctest.Wait()
	if got := r.plane.hosts(); !slices.Equal(got, hosts) {
		r.t.Errorf("%s: the table has %v, want %v", what, got, hosts)
	}
}

func fixed(lease, host string) hosting.Route {
	name := hosting.RoutePrefix(lease) + "app/0"
	return hosting.Route{Name: name, Lease: lease, Host: host, Hold: time.Second, Drain: time.Second, Targets: []hosting.Target{
		{ID: name + "@10.0.0.1:80", Address: netip.MustParseAddrPort("10.0.0.1:80")},
	}}
}

func domain(lease, host, instead string) hosting.Route {
	return hosting.Route{Name: hosting.RoutePrefix(lease) + "app", Lease: lease, Host: host, Instead: instead, Domain: true}
}

func inBubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newRig(t)) })
}

func TestTheTableFollowsTheRoutesAndANewProcess(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.want(fixed("a", "a.test"))
		r.has("at first", "a.test")
		version, _ := r.plane.now()
		r.restart()
		r.has("after a restart", "a.test")
		if again, _ := r.plane.now(); again != version {
			r.t.Errorf("the same routes are version %d and %d", version, again)
		}
		r.want(fixed("a", "a.test"), fixed("b", "b.test"))
		r.has("with another", "a.test", "b.test")
		higher, pushes := r.plane.now()
		if higher <= version {
			r.t.Error("other routes have no higher version")
		}
		r.want(fixed("a", "a.test"), fixed("b", "b.test"))
		if _, n := r.plane.now(); n != pushes {
			r.t.Error("what is there was pushed again")
		}
		// Another data plane, which has nothing.
		r.plane.set(func() { r.plane.epoch++; r.plane.table = table.Table{} })
		r.has("with another data plane", "a.test", "b.test")
	})
}

func TestAStoreThatWasLostIsFollowedAllTheSame(t *testing.T) {
	inBubble(t, func(r *rig) {
		for i := range 5 {
			r.want(fixed("a", fmt.Sprintf("a%d.test", i)))
		}
		r.store = provider.NewMemoryStore()
		r.want(fixed("b", "b.test"))
		r.restart()
		r.has("of the new store", "b.test")
	})
}

func TestAHostOfAnotherOwnerIsLeftOutAndTheRestIsThere(t *testing.T) {
	for _, old := range []bool{false, true} {
		inBubble(t, func(r *rig) {
			r.plane.set(func() { r.plane.old = old })
			r.want(fixed("a", "a.test"), domain("a", "one.test", ""))
			r.plane.set(func() { r.plane.others = []string{"two.test"} })
			r.want(fixed("a", "a.test"), domain("a", "two.test", "one.test"), fixed("b", "b.test"))
			r.has("with a refused one", "a.test", "b.test", "one.test")
			route := hosting.RoutePrefix("a") + "app"
			if two, one := r.Host("two.test", route), r.Host("one.test", route); two != hosting.Refused || one != hosting.Served {
				r.t.Errorf("two is %v, one %v", two, one)
			}
			r.mu.Lock()
			if !slices.Contains(r.woken, "a") {
				r.t.Errorf("woken were %v", r.woken)
			}
			r.mu.Unlock()
			// It is tried again after a while, and not before.
			_, pushes := r.plane.now()
			r.plane.set(func() { r.plane.others = nil })
			<-time.After(50 * time.Second)
			if _, n := r.plane.now(); n != pushes {
				r.t.Error("it was tried again at once")
			}
			<-time.After(20 * time.Second)
			r.has("once it is free", "a.test", "b.test", "two.test")
		})
	}
}

func TestANameThatAnotherOwnerHasKeepsNobodyOut(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.plane.set(func() { r.plane.others = []string{"a.test", "c.test"} })
		r.want(fixed("a", "a.test"), fixed("b", "b.test"), fixed("c", "c.test"))
		r.has("without the two", "b.test")
	})
}

func TestADataPlaneThatIsAwayIsWaitedFor(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.want(fixed("a", "a.test"))
		r.plane.set(func() { r.plane.gone = true })
		r.want(fixed("a", "a.test"), domain("a", "shop.test", ""))
		<-time.After(time.Minute)
		if got := r.Host("shop.test", hosting.RoutePrefix("a")+"app"); got != hosting.Unanswered || r.State().Reached {
			r.t.Errorf("it is %v", got)
		}
		r.plane.set(func() { r.plane.gone = false })
		<-time.After(2 * time.Second)
		r.has("once it is back", "a.test", "shop.test")
		if got := r.Host("shop.test", hosting.RoutePrefix("a")+"app"); got != hosting.Served {
			r.t.Errorf("it is %v", got)
		}
	})
}

func TestALeaseHasLeftOnceNothingIsUnderWayToIt(t *testing.T) {
	inBubble(t, func(r *rig) {
		one := fixed("a", "a.test")
		r.want(one, fixed("b", "b.test"))
		r.plane.set(func() { r.plane.flights = map[string]int{one.Targets[0].ID: 1} })
		synctest.Wait()
		if r.Left("a") {
			r.t.Error("it has left, and is in the table")
		}
		r.want(fixed("b", "b.test"))
		if r.Left("a") {
			r.t.Error("it has left with a request under way")
		}
		r.plane.set(func() { r.plane.flights = nil })
		synctest.Wait()
		if !r.Left("a") || r.Left("b") {
			r.t.Error("it has not left, or the other one has")
		}
		r.plane.set(func() { r.plane.gone = true })
		<-time.After(time.Second)
		if r.Left("a") {
			r.t.Error("who knows, with no data plane")
		}
	})
}

func TestMoreRoutesThanATableHasDoNotBlockIt(t *testing.T) {
	inBubble(t, func(r *rig) {
		var all []hosting.Route
		for i := range table.MaxRoutes + 10 {
			one := fixed(fmt.Sprintf("%06d", i), fmt.Sprintf("h%06d.test", i))
			one.Targets = nil
			all = append(all, one)
		}
		r.want(all...)
		if n := len(r.plane.hosts()); n != table.MaxRoutes {
			r.t.Errorf("the table has %d routes", n)
		}
	})
}

func TestADataPlaneHasOneBackend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control.sock")
	first, err := routes.Claim(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := routes.Claim(t.Context(), path); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := routes.Claim(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

// A table is made of all leases: where it takes long, changes wait for each other, and
// none waits for long.
func TestManyChangesGoTogetherWhereAPushTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.want(fixed("a", "a.test"))
		<-time.After(time.Second)
		r.plane.set(func() { r.plane.slow = 100 * time.Millisecond })
		_, before := r.plane.now()
		for i := range 200 { // for two seconds
			r.want(fixed("a", fmt.Sprintf("a-%d.test", i)))
			<-time.After(10 * time.Millisecond)
		}
		if _, pushes := r.plane.now(); pushes-before > 5 {
			t.Errorf("there were %d pushes of 100 ms in 2 s", pushes-before)
		}
		<-time.After(600 * time.Millisecond)
		r.has("all of them", "a-199.test")
		// One that comes alone does not wait.
		<-time.After(time.Second)
		r.want(fixed("a", "b.test"))
		<-time.After(150 * time.Millisecond)
		r.has("one alone", "b.test")
	})
}
