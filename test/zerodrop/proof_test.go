package main

import (
	"strings"
	"testing"
	"time"
)

// moving is a line on which v1 served and v2 is taking over.
func moving(t *testing.T) *line {
	t.Helper()
	l := newLine()
	l.begin("v1")
	l.serve()
	l.begin("v2")
	return l
}

func TestWhileAVersionTakesOverBothMayAnswer(t *testing.T) {
	l := moving(t)
	l.answered(time.Now(), "v1")
	l.answered(time.Now(), "v2")
	if f := l.faults(); len(f) > 0 {
		t.Error(f)
	}
	if n := l.spans[1].answers; n != 0 {
		t.Errorf("%d answers prove v2 before it serves alone", n)
	}
}

func TestAnAnswerByAnotherVersionIsAFault(t *testing.T) {
	for name, c := range map[string]struct {
		version string
		served  bool
		fault   bool
	}{
		"unknown while taking over": {"v0", false, true},
		"old after it was replaced": {"v1", true, true},
		"new once it serves":        {"v2", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := moving(t)
			if c.served {
				l.serve()
			}
			l.answered(time.Now().Add(time.Millisecond), c.version)
			if got := len(l.faults()) > 0; got != c.fault {
				t.Errorf("fault %t, want %t: %q", got, c.fault, l.faults())
			}
		})
	}
}

func TestALateAnswerCountsForTheTimeItBegan(t *testing.T) {
	l := moving(t)
	began := l.spans[0].served
	l.serve()
	l.answered(began, "v1")
	if f := l.faults(); len(f) > 0 {
		t.Error(f)
	}
}

func TestEnoughAnswersProveAVersion(t *testing.T) {
	l := moving(t)
	l.serve()
	for range enough {
		l.answered(time.Now().Add(time.Millisecond), "v2")
	}
	if err := l.proven(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAStreamOfTheReleaseThatStaysMustNotEnd(t *testing.T) {
	l := moving(t)
	l.serve()
	if err := l.mayEnd("v1"); err != nil {
		t.Errorf("the replaced release: %v", err)
	}
	if err := l.mayEnd("v2"); err != nil {
		t.Errorf("just after the change: %v", err)
	}
	l.spans[1].served = time.Now().Add(-2 * settling)
	if err := l.mayEnd("v2"); err == nil {
		t.Error("the release that stays may end a stream")
	}
	l.begin("v3")
	if err := l.mayEnd("v2"); err != nil {
		t.Errorf("while it is being replaced: %v", err)
	}
}

func TestAResultBelowItsFloorsHasProblems(t *testing.T) {
	o := defaults()
	good := result{changes: o.changes, kills: o.kills}
	good.load.Rate = float64(o.rate)
	if p := good.problems(o); len(p) > 0 {
		t.Fatal(p)
	}
	for want, spoil := range map[string]func(*result){
		"requests a second": func(r *result) { r.load.Rate = fullRate - 0.5 },
		"changes were made": func(r *result) { r.changes-- },
		"killed 9 times":    func(r *result) { r.kills-- },
		"requests failed":   func(r *result) { r.load.Failed = 1 },
		"wrong":             func(r *result) { r.wrong = []string{"wrong"} },
	} {
		r := good
		spoil(&r)
		if p := strings.Join(r.problems(o), "\n"); !strings.Contains(p, want) {
			t.Errorf("problems %q do not say %q", p, want)
		}
	}
}

func TestTheLastLine(t *testing.T) {
	r := result{changes: 20, kills: 12}
	r.load.Requests, r.load.Rate, r.load.P99 = 100000, 550.2, 12340*time.Microsecond
	want := "zero-drop: 100000 requests at 550/s, 20 changes, 12 kills, p99 12.3 ms, 0 failed"
	if r.String() != want {
		t.Errorf("%q, want %q", r.String(), want)
	}
}
