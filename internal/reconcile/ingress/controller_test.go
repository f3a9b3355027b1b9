package ingress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/reconcile"
)

// desk is a pusher with everything around it in a test's hands.
type desk struct {
	*Pusher
	t        *testing.T
	routes   *fakeRoutes
	plane    *fakePlane
	heard    *heard
	facts    Facts
	factsErr error
}

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, routes: &fakeRoutes{}, plane: &fakePlane{epoch: "a"}, heard: &heard{}, facts: Facts{BootID: "one"}}
	d.Pusher = &Pusher{
		Store: d.routes, Plane: d.plane, Link: newLink(d.plane, d.heard),
		Facts: func(context.Context) (Facts, error) { return d.facts, d.factsErr },
		Wake:  func(s string) { d.heard.say("wake " + s) },
	}
	return d
}

// pass runs the controller and returns its condition.
func (d *desk) pass() (reconcile.Condition, error) {
	d.t.Helper()
	res, err := d.Controller().Reconcile(d.t.Context())
	if len(res.Conditions) != 1 || res.Conditions[0].Type != reconcile.ConditionReady {
		d.t.Fatalf("conditions %+v", res.Conditions)
	}
	return res.Conditions[0], err
}

// inSync runs a pass that must go well, and wants these pushes so far.
func (d *desk) inSync(what string, pushes ...int64) {
	d.t.Helper()
	if c, err := d.pass(); err != nil || c.Status != reconcile.True || c.Reason != ReasonInSync {
		d.t.Errorf("%s: %+v, %v", what, c, err)
	}
	if got := d.plane.versions(); !slices.Equal(got, pushes) {
		d.t.Errorf("%s: pushed %v, want %v", what, got, pushes)
	}
}

func (d *desk) told(what string, want ...string) {
	d.t.Helper()
	if got := d.heard.since(); !slices.Equal(got, want) {
		d.t.Errorf("%s: told %v, want %v", what, got, want)
	}
}

func TestNothingIsPushedBeforeThereWasARoute(t *testing.T) {
	d := newDesk(t)
	d.factsErr = errors.New("not asked for")
	d.Link.take(report("a", 0))
	d.inSync("an empty store")
}

func TestANewerTableIsPushedOnceAndWakesThoseItIsAbout(t *testing.T) {
	d := newDesk(t)
	d.Link.take(report("a", 0))
	d.routes.set(map[string]int64{"shop-web": 1, "blog-web": 2})
	d.heard.since()
	d.inSync("the first table", 2)
	d.told("the first table", "wake blog-web", "wake shop-web")
	d.inSync("nothing new", 2)
	d.told("nothing new")
	d.routes.set(map[string]int64{"shop-web": 3, "blog-web": 2})
	d.inSync("one service changed", 2, 3)
	d.told("one service changed", "wake shop-web")
	if v := d.Link.View(); v.Acked != 3 {
		t.Errorf("view %+v", v)
	}
}

func TestAnAcknowledgementBeforeAnyReportCountsOnceTheReportIsThere(t *testing.T) {
	d := newDesk(t)
	d.routes.set(map[string]int64{"shop-web": 5})
	d.inSync("before any report", 5)
	if v := d.Link.View(); v.Known {
		t.Fatalf("known without a report: %+v", v)
	}
	d.Link.take(report("a", 5))
	d.inSync("after the report", 5)
	if v := d.Link.View(); !v.Known || v.Acked != 5 {
		t.Errorf("view %+v", v)
	}
}

func TestAReportMayOvertakeTheAcknowledgement(t *testing.T) {
	d := newDesk(t)
	d.Link.take(report("a", 4))
	d.heard.since()
	d.routes.set(map[string]int64{"shop-web": 5})
	d.plane.during = func() { d.Link.take(report("a", 5)) }
	d.inSync("the report comes first", 5)
	d.told("the report comes first", "wake shop-web")
	if v := d.Link.View(); v.Acked != 5 || v.Reported != 5 {
		t.Errorf("view %+v", v)
	}
}

func TestANewProcessGetsTheTableAgain(t *testing.T) {
	d := newDesk(t)
	d.Link.take(report("a", 0))
	d.routes.set(map[string]int64{"shop-web": 1, "blog-web": 2})
	d.inSync("the first process", 2)
	d.heard.since()

	d.plane.epoch = "b"
	d.Link.take(report("b", 1)) // has an older one on its disk
	d.told("its report", "push")
	d.inSync("a new process", 2, 2)
	d.told("a new process", "wake blog-web") // it served shop-web's row already

	d.plane.epoch = "c"
	d.Link.take(report("c", 2)) // has the newest
	d.inSync("one that is up to date", 2, 2)
}

func TestAnAcknowledgementOfTheProcessBeforeDoesNotCount(t *testing.T) {
	d := newDesk(t)
	d.Link.take(report("a", 1))
	d.routes.set(map[string]int64{"shop-web": 2})
	// It takes the table and is replaced before its answer is read.
	d.plane.during = func() { d.Link.take(report("b", 1)) }
	d.inSync("the answer of the one before", 2)
	if v := d.Link.View(); v.Acked != 1 {
		t.Fatalf("view %+v: the new process has not taken it", v)
	}
	d.plane.epoch, d.plane.during = "b", nil
	d.inSync("the new one", 2, 2)
	if v := d.Link.View(); v.Acked != 2 {
		t.Errorf("view %+v", v)
	}
}

func TestATableIsPushedAgainAfterAReboot(t *testing.T) {
	d := newDesk(t)
	d.Link.take(report("a", 0))
	d.routes.set(map[string]int64{"shop-web": 1})
	d.inSync("before", 1)
	d.facts.BootID = "two"
	d.inSync("after", 1, 1)
	if got := d.plane.pushed[1].BootID; got != "two" {
		t.Errorf("pushed with boot id %q", got)
	}
	d.inSync("once", 1, 1)
}

func TestWhatKeepsATableFromBeingTakenIsTheCondition(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*desk)
		status reconcile.ConditionStatus
		reason string
		says   string
		fails  bool // the pass is tried again by itself
	}{
		// The link asks for a pass as soon as somebody answers.
		"nobody answers": {func(d *desk) { d.Link.lose(); d.plane.fail = errAway }, reconcile.False, ReasonUnreachable, "nobody answers", false},
		"a table that it refuses": {func(d *desk) { d.plane.fail = fmt.Errorf("%w: no host", table.ErrInvalid) },
			reconcile.False, ReasonRefused, "no host", true},
		"a newer one in use": {func(d *desk) { d.plane.fail = table.ErrOldVersion },
			reconcile.False, ReasonOlderStore, "from a newer store", true},
		"the same version with other routes": {func(d *desk) { d.plane.fail = table.ErrSameVersion },
			reconcile.False, ReasonOlderStore, "from a newer store", true},
		"a newer one, seen before its report": {func(d *desk) { d.Link.lose(); d.plane.fail = table.ErrOldVersion },
			reconcile.False, ReasonOlderStore, "from a newer store", true},
		"a store that cannot be read": {func(d *desk) { d.routes.err = errors.New("disk gone") }, reconcile.Unknown, ReasonReadFailed, "disk gone", true},
		"facts that cannot be read":   {func(d *desk) { d.factsErr = errors.New("no /proc") }, reconcile.Unknown, ReasonReadFailed, "no /proc", true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.Link.take(report("a", 1))
			d.routes.set(map[string]int64{"shop-web": 2})
			d.heard.since()
			c.change(d)
			got, err := d.pass()
			if got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.says) || (err != nil) != c.fails {
				t.Errorf("%+v, %v", got, err)
			}
			d.told("nothing was taken")
			if v := d.Link.View(); v.Acked == 2 {
				t.Errorf("view %+v", v)
			}
			// What was in the way is gone: the next pass does it.
			d.plane.fail, d.routes.err, d.factsErr = nil, nil, nil
			d.inSync("afterwards", 2)
		})
	}
}
