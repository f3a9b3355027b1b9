package ingress

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/reconcile/application"
)

func TestANewProcessAsksForATableAndOneThatGoesOnDoesNot(t *testing.T) {
	var h heard
	l := newLink(nil, &h)
	for _, step := range []struct {
		what  string
		r     table.Report
		acked int64
		said  []string
	}{
		{"the first report", report("a", 0), unacknowledged, []string{"push"}},
		{"the table was taken", report("a", 4), 4, nil},
		{"a report from before the table", report("a", 3), 4, nil},
		{"another process with the table on its disk", report("b", 3), 3, []string{"push"}},
		{"another one without", report("c", 0), unacknowledged, []string{"push"}},
	} {
		l.take(step.r)
		if v := l.View(); !v.Known || v.Acked != step.acked {
			t.Errorf("%s: %+v, want version %d", step.what, v, step.acked)
		}
		if got := h.since(); !slices.Equal(got, step.said) {
			t.Errorf("%s: told %v, want %v", step.what, got, step.said)
		}
	}
}

func TestTheReportsVersionIsToldApartFromTheAcknowledgedOne(t *testing.T) {
	l := newLink(nil, &heard{})
	l.take(report("a", 4))
	l.acknowledged(table.Ack{Epoch: "a", Version: 5})
	if v := l.View(); v.Acked != 5 || v.Reported != 4 {
		t.Errorf("after the acknowledgement: %+v", v)
	}
	l.take(report("a", 4)) // was on its way
	if v := l.View(); v.Acked != 5 || v.Reported != 4 {
		t.Errorf("after the older report: %+v", v)
	}
	l.take(report("a", 5))
	if v := l.View(); v.Acked != 5 || v.Reported != 5 {
		t.Errorf("after its own report: %+v", v)
	}
}

func TestATableOfAnotherStoreCoversNothing(t *testing.T) {
	l := newLink(nil, &heard{})
	l.take(report("a", 542, target("x", 1, false)))
	l.disown()
	for _, still := range []table.Report{report("a", 542), report("a", 542, target("x", 1, false))} {
		if v := l.View(); !v.Known || v.Acked != unacknowledged || v.Reported != unacknowledged {
			t.Errorf("view %+v, want nothing acknowledged", v)
		}
		l.take(still)
	}
	if v := l.View(); v.InFlight["x"].InFlight != 1 {
		t.Errorf("what is in flight is lost: %+v", v)
	}
	l.acknowledged(table.Ack{Epoch: "a", Version: 543})
	if v := l.View(); v.Acked != 543 {
		t.Errorf("once it took a table: %+v", v)
	}
	l.disown()
	l.take(report("b", 2))
	if v := l.View(); v.Acked != 2 {
		t.Errorf("another process: %+v", v)
	}
}

func TestALateAcknowledgementTakesNothingBack(t *testing.T) {
	l := newLink(nil, &heard{})
	l.take(report("a", 6))
	l.acknowledged(table.Ack{Epoch: "a", Version: 5})
	if v := l.View(); v.Acked != 6 {
		t.Errorf("view %+v", v)
	}
}

func TestAnAcknowledgementOfAProcessThatIsNotReportingDoesNotCount(t *testing.T) {
	l := newLink(nil, &heard{})
	l.acknowledged(table.Ack{Epoch: "a", Version: 5})
	if v := l.View(); v.Known || v.Acked != 0 {
		t.Errorf("before any report: %+v", v)
	}
	l.take(report("b", 4))
	l.acknowledged(table.Ack{Epoch: "a", Version: 5})
	if v := l.View(); v.Acked != 4 {
		t.Errorf("from another process: %+v", v)
	}
}

func TestServicesAreWokenWhenADrainBeginsAndWhenItIsOver(t *testing.T) {
	var h heard
	l := newLink(nil, &h)
	for _, step := range []struct {
		what    string
		targets []table.TargetReport
		woken   []string
	}{
		{"requests come", []table.TargetReport{target("x", 3, false), target("y", 0, false)}, nil},
		{"fewer of them", []table.TargetReport{target("x", 2, false), target("y", 1, false)}, nil},
		{"one begins to drain", []table.TargetReport{target("x", 2, true), target("y", 1, false)}, []string{"wake of-x"}},
		{"it drains", []table.TargetReport{target("x", 1, true), target("y", 1, false)}, nil},
		{"it has drained", []table.TargetReport{target("x", 0, true), target("y", 1, false)}, []string{"wake of-x"}},
		{"nothing new", []table.TargetReport{target("x", 0, true), target("y", 1, false)}, nil},
		{"both are gone", nil, []string{"wake of-x", "wake of-y"}},
		{"one comes back", []table.TargetReport{target("x", 0, false)}, nil},
	} {
		l.take(report("a", 1, step.targets...))
		got := slices.DeleteFunc(h.since(), func(s string) bool { return s == "push" })
		if !slices.Equal(got, step.woken) {
			t.Errorf("%s: told %v, want %v", step.what, got, step.woken)
		}
	}
}

func TestAViewStaysAsItWasWhenNewsComes(t *testing.T) {
	l := newLink(nil, &heard{})
	l.take(report("a", 1, target("x", 3, false)))
	view := l.View()
	before := application.IngressView{Known: view.Known, Acked: view.Acked, Reported: view.Reported, InFlight: maps.Clone(view.InFlight)}
	l.take(report("a", 2, target("x", 1, true), target("y", 1, false)))
	l.acknowledged(table.Ack{Epoch: "a", Version: 3})
	l.lose()
	if view.Acked != before.Acked || !maps.Equal(view.InFlight, before.InFlight) {
		t.Errorf("was %+v, is now %+v", before, view)
	}
}

func TestALostDataPlaneIsUnknownUntilItReportsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heard
		p := &fakePlane{feed: make(chan table.Report)}
		l := newLink(p, &h)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Run(ctx)
		}()
		p.feed <- report("a", 3)
		synctest.Wait()
		if v := l.View(); !v.Known || v.Acked != 3 {
			t.Fatalf("while it reports: %+v", v)
		}
		h.since()

		old := p.feed
		p.mu.Lock()
		p.feed = make(chan table.Report)
		p.mu.Unlock()
		close(old)
		synctest.Wait()
		if v := l.View(); v.Known || v.Acked != 0 || v.InFlight != nil {
			t.Errorf("when its reports ended: %+v", v)
		}
		if got := h.since(); !slices.Equal(got, []string{"lost"}) {
			t.Errorf("told %v", got)
		}

		// The same process: its reports broke off, it did not.
		p.feed <- report("a", 3)
		synctest.Wait()
		if v := l.View(); !v.Known || v.Acked != 3 {
			t.Errorf("when it reports again: %+v", v)
		}
		if got := h.since(); !slices.Equal(got, []string{"push"}) {
			t.Errorf("told %v", got)
		}
		cancel()
		<-done
	})
}

func TestADataPlaneThatStaysAwayIsAskedOnceASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakePlane{feed: make(chan table.Report)}
		close(p.feed)
		l := newLink(p, &heard{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		l.Run(ctx)
		// Five tries within the first 1.55 s, then one a second.
		if p.opened < 60 || p.opened > 66 {
			t.Errorf("asked %d times in a minute", p.opened)
		}
	})
}

func TestADataPlaneThatWasBackIsAskedAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away, back := make(chan table.Report), make(chan table.Report, 1)
		close(away)
		back <- report("a", 1)
		close(back)
		p := &fakePlane{feed: away}
		l := newLink(p, &heard{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Run(ctx)
		}()
		<-time.After(20 * time.Second)
		p.mu.Lock()
		p.feed = back
		before := p.opened
		p.mu.Unlock()
		<-time.After(2 * lastRetry)
		cancel()
		<-done
		// Within a second for its report, then after 50, 100, 200 and 400 ms.
		if p.opened-before < 5 {
			t.Errorf("asked %d times within two seconds", p.opened-before)
		}
	})
}
