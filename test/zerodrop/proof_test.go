package main

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/test/load"
)

func by(version, server string) load.Origin { return load.Origin{Version: version, Server: server} }

// moving is a line on which v1 served on a and b, and v2 is taking over.
func moving(t *testing.T) *line {
	t.Helper()
	l := newLine()
	l.begin("v1")
	l.serve([]string{"a", "b"})
	l.begin("v2")
	return l
}

func TestWhileAVersionTakesOverBothMayAnswer(t *testing.T) {
	l := moving(t)
	l.answered(time.Now(), by("v1", "a"))
	l.answered(time.Now(), by("v2", "c"))
	if f := l.faults(); len(f) > 0 {
		t.Error(f)
	}
	if n := l.spans[1].answers; n != 0 {
		t.Errorf("%d answers prove v2 before it serves alone", n)
	}
}

func TestAnAnswerByAnotherReplicaIsAFault(t *testing.T) {
	for name, c := range map[string]struct {
		by     load.Origin
		served bool
		fault  bool
	}{
		"unknown while taking over":           {by("v0", "z"), false, true},
		"old after it was replaced":           {by("v1", "a"), true, true},
		"new once it serves":                  {by("v2", "c"), true, false},
		"of the same version and not serving": {by("v2", "d"), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := moving(t)
			if c.served {
				l.serve([]string{"c"})
			}
			l.answered(time.Now().Add(time.Millisecond), c.by)
			if got := len(l.faults()) > 0; got != c.fault {
				t.Errorf("fault %t, want %t: %q", got, c.fault, l.faults())
			}
		})
	}
}

func TestALateAnswerCountsForTheTimeItBegan(t *testing.T) {
	l := moving(t)
	began := l.spans[0].served
	l.serve([]string{"c"})
	l.answered(began, by("v1", "a"))
	if f := l.faults(); len(f) > 0 {
		t.Error(f)
	}
}

func TestAChangeIsProvenByAnswersAndARequestOnEachNewReplica(t *testing.T) {
	l := moving(t)
	l.opened(time.Now(), by("v2", "c")) // while it takes over
	l.serve([]string{"a", "c", "d"})
	lacks := func(want string) {
		t.Helper()
		if got, _ := l.lacks(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("lacks %q, want %q", got, want)
		}
	}
	lacks("version v2 gave 0 answers")
	for range enough {
		l.answered(time.Now().Add(time.Millisecond), by("v2", "a"))
	}
	lacks("replica d of version v2 had no request")
	l.opened(time.Now().Add(time.Millisecond), by("v2", "d"))
	lacks("")
	if err := l.proven(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAStreamOfAReplicaThatStaysMustNotEnd(t *testing.T) {
	l := moving(t)
	l.serve([]string{"c"})
	if err := l.mayEnd(by("v1", "a")); err != nil {
		t.Errorf("a replaced replica: %v", err)
	}
	if err := l.mayEnd(by("v2", "c")); err != nil {
		t.Errorf("just after the change: %v", err)
	}
	l.spans[1].served = time.Now().Add(-2 * settling)
	if err := l.mayEnd(by("v2", "c")); err == nil {
		t.Error("a replica that stays may end a stream")
	}
}

func TestAStreamThatEndsDuringAChangeIsJudgedByWhatStays(t *testing.T) {
	for name, c := range map[string]struct {
		server string
		stays  []string
		fault  bool
	}{
		"it goes":                         {"a", []string{"b"}, false},
		"it stays":                        {"a", []string{"a", "b", "c"}, true},
		"it drained and was taken back":   {"z", []string{"z", "c"}, false},
		"it came and ended before it was": {"c", []string{"c"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := moving(t)
			if err := l.mayEnd(by("v1", c.server)); err != nil {
				t.Fatalf("nobody knows yet: %v", err)
			}
			l.serve(c.stays)
			if got := len(l.faults()) > 0; got != c.fault {
				t.Errorf("fault %t, want %t: %q", got, c.fault, l.faults())
			}
		})
	}
}

func TestAResultBelowItsFloorsHasProblems(t *testing.T) {
	o := defaults()
	good := func() result {
		r := result{kinds: map[kind]count{}}
		for _, c := range fullSteps() {
			r.count(c.kind(), 1)
		}
		r.load.Rate, r.kills = float64(o.rate), o.kills
		return r
	}
	if p := good().problems(o); len(p) > 0 {
		t.Fatal(p)
	}
	for want, spoil := range map[string]func(*result){
		"requests a second":                      func(r *result) { r.load.Rate = fullRate - 0.5 },
		"changes were made":                      func(r *result) { r.changes = fullChanges - 1 },
		"killed 19 times":                        func(r *result) { r.kills-- },
		"requests failed":                        func(r *result) { r.load.Failed = 1 },
		"wrong":                                  func(r *result) { r.wrong = []string{"wrong"} },
		`no change of the kind "scale up" was m`: func(r *result) { delete(r.kinds, "scale up") },
	} {
		r := good()
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

func TestTheTableHasEveryKindOfThePlan(t *testing.T) {
	r := result{kinds: map[kind]count{}}
	r.count("image, blue-green", 2)
	want := "  changes  kills\n" +
		"        1      2  image, blue-green\n" +
		"        0      0  image, rolling +100% -0\n" +
		"        0      0  restart, rolling\n"
	if got := r.table(shortPlan); got != want {
		t.Errorf("\n%swant\n%s", got, want)
	}
}
