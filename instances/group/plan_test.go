package group_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/infra"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// seen begins with a term of an hour, a size, and nothing there.
func seen(size int, members ...group.Member) group.Observed {
	return group.Observed{
		Now: now, Since: now.Add(-time.Hour),
		Want: group.Want{Size: size, Hash: "new", DrainTimeout: 5 * time.Minute},
		Timing: group.Timing{
			Health: time.Minute, Launch: 5 * time.Minute, Registration: 6 * time.Minute, Retry: 5 * time.Second,
			EligibleAge: 1000 * time.Hour, ForcedAge: 2000 * time.Hour, OnDemandAge: 100 * time.Hour,
		},
		Members: members,
	}
}

// ready is a machine of an age in hours that is as it should be.
func ready(id string, hours int, change ...func(*group.Member)) group.Member {
	free := ""
	m := group.Member{
		ID: id, CreatedAt: now.Add(-time.Duration(hours) * time.Hour), Named: true, Hash: "new",
		RegisteredAt: now.Add(-time.Duration(hours)*time.Hour + time.Minute), HeardAt: now.Add(-5 * time.Second), Held: &free,
	}
	for _, one := range change {
		one(&m)
	}
	return m
}

func old(m *group.Member)     { m.Hash = "old" }
func silent(m *group.Member)  { m.HeardAt = now.Add(-10 * time.Minute) }
func never(m *group.Member)   { m.HeardAt = time.Time{} }
func broken(m *group.Member)  { silent(m); m.Provider = infra.StatusStopped }
func drains(m *group.Member)  { m.DrainingSince = now.Add(-time.Minute) }
func drained(m *group.Member) { drains(m); m.Drained = true }
func overdue(m *group.Member) { m.DrainingSince = now.Add(-5 * time.Minute) }
func leaves(m *group.Member)  { m.Leaving = true }
func noticed(m *group.Member) { m.Noticed = true; m.NoticeAt = now.Add(2 * time.Minute) }
func holds(m *group.Member)   { why := "volume db of app shop"; m.Held = &why }
func unasked(m *group.Member) { m.Held = nil }
func demand(m *group.Member)  { m.OnDemand = true }
func asked(m *group.Member)   { m.Asked = true }
func comes(m *group.Member) {
	m.CreatedAt, m.RegisteredAt, m.HeardAt = now.Add(-time.Minute), time.Time{}, time.Time{}
}
func pending(m *group.Member) { comes(m); m.Named = false }
func late(m *group.Member) {
	m.CreatedAt, m.RegisteredAt, m.HeardAt = now.Add(-12*time.Minute), time.Time{}, time.Time{}
	m.Unregistered = true
}
func justRegistered(m *group.Member) {
	m.CreatedAt, m.RegisteredAt, m.HeardAt = now.Add(-2*time.Minute), now.Add(-time.Minute), time.Time{}
}

// brief writes actions in short: "launch drain:a remove:b".
func brief(d group.Decision) string {
	var all []string
	for _, a := range d.Actions {
		one := string(a.Kind)
		if a.ID != "" {
			one += ":" + a.ID
		}
		all = append(all, one)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestPlan(t *testing.T) {
	failing := func(o *group.Observed) { o.Launch = group.LaunchState{Failures: 2, NotBefore: now.Add(time.Minute)} }
	tried := func(o *group.Observed) { o.Launch = group.LaunchState{Failures: 2} }
	absent := func(o *group.Observed) { o.Want.Absent, o.Want.Size = true, 7 }
	fresh := func(o *group.Observed) { o.Since = now.Add(-10 * time.Second) }
	blind := func(o *group.Observed) { o.Blind = true }
	aged := func(eligible, forced int) func(*group.Observed) {
		return func(o *group.Observed) {
			o.Timing.EligibleAge, o.Timing.ForcedAge = time.Duration(eligible)*time.Hour, time.Duration(forced)*time.Hour
		}
	}
	none := func(*group.Observed) {}
	for _, c := range []struct {
		name   string
		o      group.Observed
		change func(*group.Observed)
		want   string
	}{
		{"nothing is there", seen(3), none, "launch launch launch"},
		{"all is well", seen(2, ready("a", 2), ready("b", 1)), none, ""},
		{"one is missing", seen(3, ready("a", 2), ready("b", 1)), none, "launch"},
		{"one comes", seen(2, ready("a", 2), ready("b", 0, comes)), none, ""},
		{"a create is unfinished", seen(2, ready("a", 2), ready("b", 0, pending)), none, "resume:b"},
		{"a create is unfinished in the backoff", seen(2, ready("a", 2), ready("b", 0, pending)), failing, ""},
		{"nothing is launched in the backoff", seen(3), failing, ""},
		{"after failures there is one at a time", seen(3), tried, "launch"},
		{"after failures the one that comes is waited for", seen(3, ready("a", 0, comes)), tried, ""},
		{"who is on demand does not count", seen(1, ready("a", 1, demand)), none, "launch"},
		{"what could not be looked at decides nothing", seen(3, ready("a", 1)), blind, ""},

		{"scale down takes the oldest", seen(1, ready("b", 2), ready("a", 3), ready("c", 1)), none, "drain:a drain:b"},
		{"scale down takes what is not there yet first", seen(1, ready("a", 3), ready("b", 0, comes)), none, "remove:b"},
		{"scale down takes what is stale first", seen(1, ready("a", 3), ready("b", 1, old)), none, "drain:b"},
		{"scale down takes another one than what holds", seen(1, ready("a", 3, holds), ready("b", 1)), none, "drain:b"},
		{"scale down waits for all that hold", seen(0, ready("a", 3, holds)), none, ""},
		{"scale down leaves who is on demand", seen(0, ready("a", 3, demand)), none, ""},
		{"an absent group goes, with drain", seen(0, ready("a", 3), ready("b", 0, comes)), absent, "drain:a remove:b"},
		{"an absent group leaves who is on demand", seen(0, ready("a", 300, demand)), absent, ""},

		{"drift begins with a replacement", seen(2, ready("a", 2, old), ready("b", 1, old)), none, "launch"},
		{"drift waits for the replacement", seen(2, ready("a", 2, old), ready("b", 1), ready("c", 0, comes)), none, ""},
		{"drift waits until the replacement is heard of", seen(2, ready("a", 2, old), ready("b", 1), ready("c", 0, justRegistered)), none, ""},
		{"drift drains when the replacement is there", seen(2, ready("b", 3), ready("a", 2, old), ready("c", 1)), none, "drain:a"},
		{"drift drains on", seen(2, ready("a", 2, old, drains), ready("b", 1), ready("c", 0)), none, "drain:a"},
		{"drift removes what is drained", seen(2, ready("a", 2, old, drained), ready("b", 1), ready("c", 1)), none, "remove:a"},
		{"drift removes at the deadline", seen(2, ready("a", 2, old, overdue), ready("b", 1), ready("c", 1)), none, "remove:a"},
		{"nothing is removed that holds something by then", seen(2, ready("a", 2, old, drained, holds), ready("b", 1), ready("c", 1)), none, ""},
		{"the next one waits until the last has left", seen(2, ready("x", 3, leaves), ready("a", 2, old), ready("b", 1)), none, "remove:x"},
		{"the next one waits until the last is drained", seen(2, ready("x", 3, drains), ready("a", 2, old), ready("b", 1)), none, "drain:x"},
		{"a failed replacement is removed", seen(1, ready("a", 2, old), ready("b", 0, late)), none, "remove:b"},
		{"a failed replacement is tried again later", seen(1, ready("a", 2, old)), failing, ""},
		{"a failed replacement is tried again", seen(1, ready("a", 2, old)), tried, "launch"},
		{"what holds is not rotated", seen(1, ready("a", 2, old, holds)), none, ""},
		{"what holds lets the next one go first", seen(2, ready("a", 2, old, holds), ready("b", 1, old)), none, "launch"},
		{"an unknown hash is no drift", seen(1, ready("a", 2, func(m *group.Member) { m.Hash = "" })), none, ""},
		{"a change taken back removes what had begun", seen(1, ready("a", 2), ready("b", 0, comes, old)), none, "remove:b"},
		{"two stale ones and a replacement", seen(2, ready("a", 4, old), ready("b", 3, old), ready("c", 1)), none, "drain:a"},
		{"somebody asks", seen(2, ready("a", 4), ready("b", 3, asked)), none, "launch"},
		{"what was asked for goes before what drifts", seen(2, ready("a", 4, old), ready("b", 3, asked), ready("c", 1)), none, "drain:b"},

		{"expiry: eligible", seen(2, ready("a", 50), ready("b", 1)), aged(40, 100), "launch"},
		{"expiry: forced goes first", seen(2, ready("a", 50, old), ready("b", 120), ready("c", 1)), aged(40, 100), "drain:b"},
		{"expiry: drift goes before eligible", seen(2, ready("a", 50), ready("b", 5, old), ready("c", 1)), aged(40, 100), "drain:b"},
		{"expiry: on demand is not replaced", seen(1, ready("a", 1), ready("d", 200, demand)), none, "drain:d"},
		{"expiry: on demand that holds", seen(0, ready("d", 200, demand, holds)), none, ""},
		{"expiry: on demand drained", seen(0, ready("d", 200, demand, drained)), none, "remove:d"},

		{"silence is replaced first", seen(2, ready("a", 2), ready("b", 1, silent)), none, "launch"},
		{"silence is drained when the replacement is there", seen(2, ready("a", 2), ready("b", 1, silent), ready("c", 1)), none, "drain:b"},
		{"silence that holds stays", seen(2, ready("a", 2), ready("b", 1, silent, holds)), none, ""},
		{"two are silent: one at a time", seen(3, ready("a", 3), ready("b", 2, silent), ready("c", 1, silent)), none, "launch"},
		{"who was never heard of counts from the registration", seen(1, ready("a", 1, never)), none, "launch"},
		{"who has just registered has time", seen(1, ready("a", 1, justRegistered)), none, ""},
		{"a replacement never heard of goes, not what it was to replace", seen(1, ready("a", 5, silent), ready("b", 1, never)), none, "drain:b"},
		{"a new leader takes nobody for dead", seen(2, ready("a", 5, never), ready("b", 4, never)), fresh, ""},
		{"a new leader rotates nobody whom it has not heard", seen(2, ready("a", 5, never, old), ready("b", 4, never)), fresh, ""},
		{"a new leader removes no surplus before it has heard", seen(1, ready("a", 5, never, old), ready("b", 4, never)), fresh, ""},
		{"what does not run is replaced", seen(1, ready("a", 5, broken)), none, "launch"},
		{"what does not run is drained then", seen(1, ready("a", 5, broken), ready("b", 1)), none, "drain:a"},
		{"what does not run need not be empty", seen(1, ready("a", 5, broken, drains), ready("b", 1)), none, "remove:a"},
		{"a lie about what is heard of is none's business", seen(1, ready("a", 5, func(m *group.Member) { m.Provider = infra.StatusStopped })), none, ""},
		{"what is gone does not count", seen(1, ready("a", 5, func(m *group.Member) { m.Gone = true })), none, "launch remove:a"},
		{"an unhealthy one is replaced while another leaves", seen(2, ready("x", 5, leaves), ready("a", 5, silent), ready("b", 1)), none, "launch remove:x"},

		{"a notice acts at once", seen(2, ready("a", 5, noticed), ready("b", 1)), none, "drain:a launch"},
		{"several notices at once", seen(2, ready("a", 5, noticed), ready("b", 1, noticed)), none, "drain:a drain:b launch launch"},
		{"a notice on demand", seen(0, ready("a", 5, noticed, demand)), none, "drain:a"},
		{"a notice whose machine is drained", seen(1, ready("a", 5, noticed, drained), ready("b", 1)), none, "remove:a"},
		{"a notice whose machine holds", seen(1, ready("a", 5, noticed, drained, holds), ready("b", 1)), none, ""},

		{"late ones go", seen(2, ready("a", 1), ready("b", 0, late)), none, "launch remove:b"},
		{"late ones whose record was not read", seen(1, ready("b", 0, late, func(m *group.Member) { m.Unregistered = false })), none, ""},
		{"late ones on demand are the collector's", seen(1, ready("a", 1), ready("b", 0, late, demand)), none, ""},
		{"what drains counts for the bound", seen(3, ready("a", 4, drains), ready("b", 3, drains), ready("c", 1)), none, "drain:a drain:b launch"},
		{"what is unclear counts and is left", seen(1, group.Member{ID: "u", CreatedAt: now, Unclear: true}), none, ""},
		{"what is unclear is not removed", seen(0, group.Member{ID: "u", CreatedAt: now, Unclear: true}), none, ""},
		{"late ones that do not go count for the bound", seen(2, ready("a", 0, late), ready("b", 0, late)), none, "launch remove:a remove:b"},
		{"an unfinished create that is too many goes", seen(1, ready("a", 1), ready("b", 0, pending)), none, "remove:b"},
		{"nobody goes while one has yet to be heard of", seen(2, ready("a", 5, never), ready("b", 4), ready("c", 0, comes)), fresh, ""},
		{"a removal is not tried all the time", seen(1, ready("a", 1), ready("b", 0, late, func(m *group.Member) { m.RetryAt = now.Add(time.Second) })), none, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := c.o
			c.change(&o)
			d := group.Plan(o)
			if got := brief(d); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if len(d.Ask) > 0 {
				t.Errorf("asks about %v", d.Ask)
			}
			if again := group.Plan(o); fmt.Sprint(again) != fmt.Sprint(d) {
				t.Error("it decides otherwise the second time")
			}
			if c.want == "" && len(o.Members) > 0 && d.Next.IsZero() {
				t.Error("nobody looks again")
			}
		})
	}
}

func TestPlanAsksOnlyAboutWhoMayGo(t *testing.T) {
	o := seen(2, ready("a", 2, unasked), ready("b", 1, unasked))
	if d := group.Plan(o); len(d.Ask) > 0 {
		t.Errorf("at rest it asks about %v", d.Ask)
	}
	o.Members[0].Hash = "old"
	if d := group.Plan(o); !slices.Equal(d.Ask, []string{"a"}) || brief(d) != "" {
		t.Errorf("it asks about %v and does %q", d.Ask, brief(d))
	}
}

func TestADrainEndsWhenTheMachineIsTakenAway(t *testing.T) {
	d := group.Plan(seen(1, ready("a", 2, noticed), ready("b", 1)))
	if len(d.Actions) != 1 || !d.Actions[0].Deadline.Equal(now.Add(2*time.Minute)) {
		t.Errorf("%+v", d.Actions)
	}
}
