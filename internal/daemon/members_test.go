package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/internal/docker/engine"
	"github.com/berth-cloud/berth/internal/fleet"
)

// roster is what a shard and its hub show, and what was told of it.
type roster struct {
	*members
	*testing.T
	listed    []shard.Machine
	failing   error
	connected map[string]time.Time
	hosts     map[string]*instances.InstanceRecord
	keeps     []string // ids that something is kept of
	told      []string
	clock     time.Time
}

func newRoster(t *testing.T) *roster {
	r := &roster{T: t, connected: map[string]time.Time{}, hosts: map[string]*instances.InstanceRecord{}, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	r.members = &members{
		log: slog.New(slog.DiscardHandler), now: func() time.Time { return r.clock }, joined: map[string]*instances.InstanceRecord{},
		all: map[string]fleet.Member{}, engines: map[string]*engine.Client{}, poked: make(chan struct{}, 1),
		list: func(context.Context) ([]shard.Machine, error) { return r.listed, r.failing },
		node: func(id string) (hub.Node, bool) {
			at, ok := r.connected[id]
			return hub.Node{InstanceID: id, Connected: at}, ok
		},
		record: func(_ context.Context, _, id string) (*instances.InstanceRecord, error) {
			if host := r.hosts[id]; host != nil {
				return host, nil
			}
			return nil, instances.ErrInstanceNotFound
		},
		mentioned: func(context.Context) ([]string, error) { return r.keeps, nil },
		changed:   func(ids ...string) { r.told = append(r.told, ids...) },
	}
	return r
}

// looks looks once, and returns what it was told and all nodes in a line each.
func (r *roster) looks() []string {
	r.Helper()
	r.told = nil
	if err := r.look(r.Context()); !errors.Is(err, r.failing) {
		r.Fatal(err)
	}
	var out []string
	for _, m := range r.Members() {
		out = append(out, fmt.Sprintf("%s online=%v gone=%v since=%s", m.ID, m.Online, m.Gone, m.Since.Format(time.TimeOnly)))
	}
	slices.Sort(out)
	return out
}

func (r *roster) want(told []string, nodes ...string) {
	r.Helper()
	if got := r.looks(); !slices.Equal(got, nodes) || !slices.Equal(r.told, told) {
		r.Errorf("nodes %q, told of %v; want %q, %v", got, r.told, nodes, told)
	}
}

func (r *roster) machine(id, status string) *shard.Machine {
	r.listed = append(r.listed, shard.Machine{ID: id, Tenant: "acme", Group: "web", Status: status, RegisteredAt: r.clock, HeardAt: r.clock})
	return &r.listed[len(r.listed)-1]
}

func TestAMachineIsANodeFromItsRegistrationOn(t *testing.T) {
	r := newRoster(t)
	r.machine("a", shard.StatusStarting).RegisteredAt = time.Time{}
	r.want(nil)
	r.listed = nil
	r.machine("a", shard.StatusSilent)
	r.want([]string{"a"}, "a online=false gone=false since=00:00:00")
	r.clock = r.clock.Add(time.Minute)
	r.connected["a"] = r.clock
	r.want([]string{"a"}, "a online=true gone=false since=00:01:00")
	r.want(nil, "a online=true gone=false since=00:01:00")
	delete(r.connected, "a")
	r.clock = r.clock.Add(time.Minute)
	r.want([]string{"a"}, "a online=false gone=false since=00:02:00")
	r.clock = r.clock.Add(time.Minute)
	r.want(nil, "a online=false gone=false since=00:02:00")
	if m := r.Members()[0]; m.Labels["group"] != "web" || m.Labels["tenant"] != "acme" {
		t.Errorf("labels %v", m.Labels)
	}
}

func TestAMachineIsGoneWhenItsRecordSaysSoOrIsThereNoMore(t *testing.T) {
	for name, change := range map[string]func(*roster){
		"deleting": func(r *roster) { r.listed[0].Status = shard.StatusDeleting },
		"deleted":  func(r *roster) { r.listed[0].Status = shard.StatusDeleted },
		"no more":  func(r *roster) { r.listed, r.keeps = nil, []string{"", "a"} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoster(t)
			r.machine("a", shard.StatusReady)
			r.connected["a"] = r.clock
			r.looks()
			if _, err := r.Engine("a"); err != nil {
				t.Error(err)
			}
			change(r)
			r.looks()
			if m := r.Members(); len(m) != 1 || !m[0].Gone || m[0].Online || !slices.Equal(r.told, []string{"a"}) {
				t.Errorf("%+v, told of %v", m, r.told)
			}
			if _, err := r.Engine("a"); err == nil || len(r.engines) > 0 {
				t.Errorf("its engine is still there: %v", r.engines)
			}
		})
	}
}

func TestNothingIsGoneWhileTheMachinesCannotBeRead(t *testing.T) {
	r := newRoster(t)
	r.machine("a", shard.StatusReady)
	r.keeps = []string{"a", "b"}
	r.connected["a"] = r.clock
	r.failing = shard.ErrNotLeading
	r.want(nil)
	r.failing = nil
	r.looks()
	r.listed, r.failing = nil, errors.New("the cache is away")
	delete(r.connected, "a")
	r.want([]string{"a"}, "a online=false gone=false since=00:00:00", "b online=false gone=true since=00:00:00")
}

func TestAHostThatJoinedHasItsNameAndLabels(t *testing.T) {
	r := newRoster(t)
	r.machine("h", shard.StatusReady).Group = instances.JoinedGroup
	r.hosts["h"] = &instances.InstanceRecord{Joined: &instances.JoinedHost{Name: "attic"}, Tags: map[string]string{"disk": "ssd", instances.TagName: "attic"}}
	r.looks()
	if m := r.Members()[0]; m.Name != "attic" || len(m.Labels) != 1 || m.Labels["disk"] != "ssd" {
		t.Errorf("%+v", m)
	}
}

func TestAMachineThatWasThereAMomentAgoIsExpectedBack(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	heard, soon := at.Add(-time.Hour), at.Add(backWithin)
	listed := fleet.Member{ID: "a", Since: heard}
	for name, tc := range map[string]struct {
		was    fleet.Member
		online bool
		since  time.Time
		backBy time.Time
	}{
		"at the first look":        {was: fleet.Member{}, since: heard, backBy: soon},
		"when it went":             {was: fleet.Member{ID: "a", Online: true, Since: heard}, since: at, backBy: soon},
		"while it is away":         {was: fleet.Member{ID: "a", Since: heard.Add(1), BackBy: heard.Add(2)}, since: heard.Add(1), backBy: heard.Add(2)},
		"never while it is here":   {was: fleet.Member{ID: "a", Since: heard, BackBy: soon}, online: true, since: at.Add(-time.Second)},
		"when it is seen at first": {online: true, since: at.Add(-time.Second)},
	} {
		got := connected(listed, tc.was, hub.Node{Connected: at.Add(-time.Second)}, tc.online, at)
		if got.Online != tc.online || !got.Since.Equal(tc.since) || !got.BackBy.Equal(tc.backBy) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
