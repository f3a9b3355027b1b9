package shard_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/shard"
)

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

// What cannot be read of what is asked keeps nobody from leading, nor anything else.
func TestAnAskThatIsDamagedIsLeftOut(t *testing.T) {
	s := newSite(t)
	s.say(web(1))
	const id = "wrk06bgm7733st2576nx5jht4ecjw"
	key, err := instances.StorageKey(id)
	mustBe(t, err)
	_, err = s.bucket.Put(t.Context(), "shard/one/ask/"+key+".json", []byte(`{"schema": 1, "verb": "del`))
	mustBe(t, err)
	sh, _ := s.lead("a", nil)
	one := s.settled(sh, 1)
	mustBe(t, sh.Rotate(t.Context(), one[0], ""))
	s.until("it was replaced", func() bool { now := s.ready(sh); return len(now) == 1 && now[0] != one[0] })
	if !strings.Contains(s.log.String(), "remove the object ask/"+key) {
		t.Error("nobody is told")
	}
}

// A host that joined is nobody's machine: no group has it, and nothing replaces it.
func TestAHostThatJoinedIsNoGroups(t *testing.T) {
	s := newSite(t)
	s.say(web(1))
	sh, _ := s.lead("a", nil)
	s.settled(sh, 1)
	host, err := sh.Manager.JoinHost(t.Context(), instances.JoinRequest{Tenant: "default", Name: "attic"})
	mustBe(t, err)
	d, err := sh.Machine(t.Context(), host.InstanceID)
	if err != nil || d.Status != shard.StatusStarting || d.Reason != "it has not registered yet" {
		t.Errorf("%+v, %v", d, err)
	}
	if err := sh.Rotate(t.Context(), host.InstanceID, ""); err == nil {
		t.Error("it is to be replaced")
	}
	s.looked(sh)
	all, err := sh.Groups(t.Context())
	if err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	mustBe(t, sh.Delete(t.Context(), host.InstanceID, false, ""))
	s.until("it is gone", func() bool {
		d, err := sh.Machine(t.Context(), host.InstanceID)
		return err == nil && d.Status == shard.StatusDeleted
	})
}
