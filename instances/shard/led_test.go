package shard_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/instances/storage"
)

// site is a world whose machines run their agents by themselves, and whose shard looks
// after its groups.
type site struct {
	*world
	mu     sync.Mutex
	agents map[string]func() // that end them
}

func newSite(t testing.TB) *site {
	w := newWorld(t)
	w.timings = `"timings": {"health_check_interval": "1s", "retry_min": "50ms", "retry_max": "1s"}, "election": {"interval": "200ms", "timeout": "1s"}`
	w.beat = 300 * time.Millisecond
	return &site{world: w, agents: map[string]func(){}}
}

// open opens the cloud as a provider whose machines boot.
func (s *site) open(ctx context.Context, o infra.Options) (infra.Provider, error) {
	p, err := s.cloud.Open(ctx, o)
	return booting{p, s}, err
}

// lead starts a server, and waits until it leads.
func (s *site) lead(name string, change func(*shard.Options)) (sh *shard.Shard, stop func()) {
	s.Helper()
	sh, stop = s.serveWith(s.open, func(o *shard.Options) {
		o.ServerID = name
		if change != nil {
			change(o)
		}
	})
	s.until(name+" leads", func() bool {
		l, ok := sh.Leader()
		_, err := sh.Groups(s.Context())
		return ok && l.Self && err == nil
	})
	return sh, stop
}

func (s *site) ready(sh *shard.Shard) (ids []string) {
	all, err := sh.Machines(s.Context(), false)
	if err != nil {
		return nil
	}
	for i := range all {
		if all[i].Status == shard.StatusReady {
			ids = append(ids, all[i].ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// settled waits until the group web of acme has as many machines, all of them ready, and
// nothing else is there.
func (s *site) settled(sh *shard.Shard, size int) (ids []string) {
	s.Helper()
	s.until(fmt.Sprintf("%d machines are ready and nothing else is there", size), func() bool {
		ids = s.ready(sh)
		return len(ids) == size && len(s.alive()) == size
	})
	return ids
}

func (s *site) alive() []string {
	var ids []string
	for _, m := range s.cloud.Alive() {
		ids = append(ids, m.InstanceID)
	}
	slices.Sort(ids)
	return ids
}

// booting starts the agent of a machine that is made, and ends it with the machine.
type booting struct {
	infra.Provider
	site *site
}

func (b booting) CreateInstance(ctx context.Context, req infra.CreateInstanceRequest) (*infra.Instance, error) {
	made, err := b.Provider.CreateInstance(ctx, req)
	if err != nil {
		return made, err
	}
	b.site.mu.Lock()
	defer b.site.mu.Unlock()
	if b.site.agents[req.InstanceID] != nil {
		return made, nil
	}
	dir := b.site.TempDir()
	if err := b.site.bootstrap(dir, req.InstanceID, req.CACertPEM, req.UserData.Reveal()); err != nil {
		return nil, err
	}
	b.site.agents[req.InstanceID] = b.site.run(dir)
	return made, nil
}

func (b booting) DeleteInstance(ctx context.Context, instanceID, providerID string) error {
	b.site.silence(instanceID)
	return b.Provider.DeleteInstance(ctx, instanceID, providerID)
}

// silence ends the agent of a machine.
func (s *site) silence(instanceID string) {
	s.mu.Lock()
	stop := s.agents[instanceID]
	s.mu.Unlock()
	if stop != nil {
		stop()
	}
}

func web(size int) string {
	return fmt.Sprintf(`"acme": {"web": {"template": "small", "size": %d}}`, size)
}

func TestAGroupComesUpByItselfAndFollowsItsSize(t *testing.T) {
	s := newSite(t)
	s.say(web(3))
	sh, _ := s.lead("a", nil)
	first := s.settled(sh, 3)
	s.say(web(1))
	one := s.settled(sh, 1)
	if !slices.Contains(first, one[0]) {
		t.Errorf("%s stays of %v", one, first)
	}
	s.say(web(2))
	if two := s.settled(sh, 2); !slices.Contains(two, one[0]) {
		t.Errorf("%s went: %v", one, two)
	}
	s.say(``)
	s.settled(sh, 0)
	s.until("the group is forgotten", func() bool {
		all, err := sh.Groups(t.Context())
		return err == nil && len(all) == 0
	})
}

func TestAConfigurationThatCannotBeReadChangesNothing(t *testing.T) {
	s := newSite(t)
	s.say(web(2))
	sh, _ := s.lead("a", nil)
	before := s.settled(sh, 2)
	for _, text := range []string{`{`, `{}`, `{"groups": {}}`} {
		s.spoil(text)
		if err := sh.Reload(t.Context()); err == nil {
			t.Errorf("%s is taken", text)
		}
		s.looked(sh)
		if got := s.alive(); !slices.Equal(got, before) {
			t.Fatalf("%s: %v are there, not %v", text, got, before)
		}
		// Its groups are known as they were.
		all, err := sh.Groups(t.Context())
		if err != nil || len(all) != 1 || all[0].Size != 2 || all[0].Absent {
			t.Errorf("%+v, %v", all, err)
		}
	}
	s.say(web(1))
	s.settled(sh, 1)
}

// looked waits until a whole pass over everything was made since.
func (s *site) looked(sh *shard.Shard) {
	s.Helper()
	now := s.now()
	s.until("every group was looked at", func() bool { return sh.LookedAtSince(now) })
}

// A leader that was killed lets nothing go: its successor waits, finds what there is, and
// goes on with the rotation that was under way, with one machine for one.
func TestANewLeaderRotatesAndMakesNothing(t *testing.T) {
	s := newSite(t)
	s.say(web(2))
	sh, kill := s.lead("a", nil)
	before := s.settled(sh, 2)
	kill()
	next, _ := s.lead("b", func(o *shard.Options) { o.CacheDir = t.TempDir() })
	s.until("all are back", func() bool { return slices.Equal(s.ready(next), before) })
	s.looked(next)
	if got := s.alive(); !slices.Equal(got, before) {
		t.Fatalf("%v are there, not %v", got, before)
	}
	ids, err := next.RotateGroup(t.Context(), "", "web", "somebody")
	if err != nil || !slices.Equal(slices.Sorted(slices.Values(ids)), before) {
		t.Fatalf("%v, %v", ids, err)
	}
	s.until("all were replaced", func() bool {
		now := s.ready(next)
		return len(now) == 2 && len(s.alive()) == 2 && !slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) })
	})
	if made := s.made(); made != 4 {
		t.Errorf("%d machines were made for 2 that were replaced by 2", made)
	}
}

// What was asked of one leader, the next one does.
func TestWhatWasAskedOutlivesALeader(t *testing.T) {
	s := newSite(t)
	s.say(web(1))
	sh, kill := s.lead("a", nil)
	before := s.settled(sh, 1)
	s.cloud.Script(fake.Fault{Method: "CreateInstance", Do: fake.Fail, To: 3})
	mustBe(t, sh.Rotate(t.Context(), before[0], "somebody"))
	tenant, wanted, err := sh.Create(t.Context(), shard.CreateRequest{Group: "web", OnDemand: true})
	if err != nil || tenant != "acme" {
		t.Fatal(tenant, err)
	}
	kill()
	next, _ := s.lead("b", func(o *shard.Options) { o.CacheDir = t.TempDir() })
	s.until("it was replaced, and the other one is there", func() bool {
		now := s.ready(next)
		return len(now) == 2 && len(s.alive()) == 2 && slices.Contains(now, wanted) && !slices.Contains(now, before[0])
	})
	mustBe(t, next.Delete(t.Context(), wanted, false, "somebody"))
	s.settled(next, 1)
	var d *shard.Detail
	s.until("it is gone, and known to have been", func() bool {
		d, err = next.Machine(t.Context(), wanted)
		return err == nil && d.Status == shard.StatusDeleted && d.OnDemand
	})
	var kinds []string
	for _, e := range d.Events {
		kinds = append(kinds, e.Kind)
	}
	for _, kind := range []string{"created", "registered", "asked", "deleting", "deleted"} {
		if !slices.Contains(kinds, kind) {
			t.Errorf("its history has no %q: %v", kind, kinds)
		}
	}
}

// stubborn holds some machines, and drains others when told.
type stubborn struct {
	mu       sync.Mutex
	holds    string
	drained  bool
	deadline time.Time
}

var (
	_ group.Holder  = (*stubborn)(nil)
	_ group.Drainer = (*stubborn)(nil)
)

func (d *stubborn) Holds(context.Context, string) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.holds, nil
}

func (d *stubborn) Drain(_ context.Context, _ string, deadline time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deadline = deadline
	return nil
}

func (d *stubborn) Drained(context.Context, string) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.drained, nil
}

func TestAMachineThatHoldsSomethingIsDeletedByForceAlone(t *testing.T) {
	s := newSite(t)
	s.say(web(1))
	d := &stubborn{holds: "volume db of app shop"}
	sh, _ := s.lead("a", func(o *shard.Options) { o.Holder, o.Drainer = d, d })
	id := s.settled(sh, 1)[0]
	mustBe(t, sh.Delete(t.Context(), id, false, ""))
	s.until("it is refused", func() bool {
		m, err := sh.Machine(t.Context(), id)
		return err == nil && m.Reason == "it was asked to delete: it is kept: volume db of app shop"
	})
	d.mu.Lock()
	d.holds = ""
	d.mu.Unlock()
	mustBe(t, sh.Delete(t.Context(), id, false, ""))
	s.until("it drains", func() bool {
		m, err := sh.Machine(t.Context(), id)
		d.mu.Lock()
		defer d.mu.Unlock()
		return err == nil && m.Status == shard.StatusDraining && !d.deadline.IsZero()
	})
	mustBe(t, sh.Delete(t.Context(), id, true, ""))
	s.until("it goes at once, and another one comes", func() bool {
		now := s.ready(sh)
		return len(now) == 1 && now[0] != id && len(s.alive()) == 1
	})
}

// Somebody who asks is told what can never work before anything is kept.
func TestWhatCannotBeAskedIsRefused(t *testing.T) {
	s := newSite(t)
	s.say(`"acme": {"web": {"template": "small", "size": 0}}, "beta": {"web": {"template": "small", "size": 0}}`)
	sh, _ := s.lead("a", nil)
	for name, try := range map[string]func() error{
		"two tenants": func() error { _, _, err := sh.Create(t.Context(), shard.CreateRequest{Group: "web"}); return err },
		"no group":    func() error { _, _, err := sh.Create(t.Context(), shard.CreateRequest{Group: "db"}); return err },
		"no tenant": func() error {
			_, _, err := sh.Create(t.Context(), shard.CreateRequest{Tenant: "c", Group: "web"})
			return err
		},
		"a variable": func() error {
			_, _, err := sh.Create(t.Context(), shard.CreateRequest{Tenant: "acme", Group: "web", Vars: map[string]string{"a-b": "c"}})
			return err
		},
		"no machine": func() error { return sh.Delete(t.Context(), "wrk06bgm7733st2576nx5jht4ecjw", false, "") },
		"no id":      func() error { return sh.Rotate(t.Context(), "../../x", "") },
	} {
		if err := try(); err == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
	if got := s.alive(); len(got) > 0 {
		t.Errorf("%v were made", got)
	}
}

// made is how many machines were made since the beginning.
func (s *site) made() (n int) {
	for _, e := range s.cloud.History() {
		if e.What == "created" {
			n++
		}
	}
	return n
}

// cuttable is a store to which a server can lose its way.
type cuttable struct {
	storage.Storage
	cut atomic.Bool
}

func (c *cuttable) PutIfMatch(ctx context.Context, key string, data []byte, tag string) (string, error) {
	if c.cut.Load() {
		return "", storage.ErrUnavailable
	}
	return c.Storage.PutIfMatch(ctx, key, data, tag)
}

// The only server that there can be does not wait for the one before it, which was killed.
func TestTheOnlyServerGoesOnAtOnce(t *testing.T) {
	for name, sole := range map[string]bool{"the only one": true, "one of several": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.timings = `"election": {"interval": "20s", "timeout": "1m"}`
			store := &cuttable{Storage: s.bucket}
			_, kill := s.lead("a", func(o *shard.Options) { o.Storage, o.Sole = store, sole })
			store.cut.Store(true) // it cannot let go of the lead any more
			kill()
			sh, _ := s.serveWith(s.open, func(o *shard.Options) { o.ServerID, o.Sole = "b", sole })
			if sole {
				s.until("it leads", func() bool { l, _ := sh.Leader(); return l.Self })
				return
			}
			s.until("it has seen who led", func() bool { l, _ := sh.Leader(); return l.Holder == "a" })
			if l, _ := sh.Leader(); l.Self {
				t.Error("it leads beside another one")
			}
		})
	}
}

// A machine that is connected is there, however rarely agents report and however often
// the configuration wants them to by now.
func TestAShorterIntervalReplacesNobody(t *testing.T) {
	s := newSite(t)
	s.beat = time.Second
	s.say(web(2))
	sh, _ := s.lead("a", func(o *shard.Options) { o.Timing = hub.Timing{Heartbeat: 2 * time.Second} })
	before := s.settled(sh, 2)
	s.retime(`"timings": {"health_check_interval": "100ms", "retry_min": "50ms", "retry_max": "1s"}, "election": {"interval": "200ms", "timeout": "1s"}`)
	mustBe(t, sh.Reload(t.Context()))
	for range 8 {
		s.looked(sh)
	}
	if got := s.alive(); !slices.Equal(got, before) || s.made() != 2 {
		t.Errorf("%v are there, not %v, and %d were made", got, before, s.made())
	}
}
