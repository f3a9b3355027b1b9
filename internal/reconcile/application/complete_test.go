package application

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

func TestAJobRunsOnceForEveryRelease(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("job:1", asJob(spec.RestartNo)))
	r.settle(20, time.Minute)
	if a, c := r.attempt(), r.ready(); a.State != store.AttemptSucceeded || c.Reason != ReasonCompleted || c.Status != reconcile.True {
		t.Fatalf("attempt %+v, condition %+v", a, c)
	}
	r.passFor(10 * time.Second)
	if got := r.startOrder(); len(got) != 1 {
		t.Errorf("it ran %d times", len(got))
	}
	r.apply(r.spec("job:2", asJob(spec.RestartNo)))
	r.settle(30, time.Minute)
	if got := r.startOrder(); len(got) != 2 || r.ready().Reason != ReasonCompleted || len(r.engine.Containers()) != 1 {
		t.Errorf("runs %v, %+v, %s", got, r.ready(), r.describe())
	}
}

func TestAJobThatFails(t *testing.T) {
	withoutRace(t)
	for name, c := range map[string]struct {
		image   string
		restart spec.Restart
		reason  string
		words   string
	}{
		"is not repeated":                {"job:bad", spec.RestartNo, string(ReasonJobFailed), "code 4"},
		"is repeated until its deadline": {"job:bad", spec.RestartOnFailure, string(ReasonJobFailed), "no such table"},
		"comes through the second time":  {"job:second", spec.RestartOnFailure, ReasonCompleted, "ran to its end"},
		"never ends":                     {"job:never", spec.RestartNo, ReasonCompletionTimeout, "within 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRig(t)
			r.apply(r.spec(c.image, asJob(c.restart)))
			for end := r.clock.Now().Add(3 * time.Minute); r.clock.Now().Before(end) && !r.attempt().State.Final(); r.clock.Advance(100 * time.Millisecond) {
				r.pass()
				r.sync()
			}
			if a := r.attempt(); a.Reason != c.reason || !strings.Contains(a.Message, c.words) {
				t.Errorf("attempt %+v", a)
			}
		})
	}
}

func TestAServiceThatBecomesAJobIsTakenOffItsRouteFirst(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	r.apply(r.spec("job:1", asJob(spec.RestartNo)))
	r.settle(30, time.Minute)
	if c := r.ready(); c.Reason != ReasonCompleted || len(r.running()) != 0 {
		t.Errorf("condition %+v; %s", c, r.describe())
	}
	r.apply(r.spec("good:2"))
	r.settle(30, time.Minute)
	if c := r.ready(); c.Reason != string(ReasonDeployed) || len(r.engine.Containers()) != 1 {
		t.Errorf("condition %+v; %s", c, r.describe())
	}
}

func TestAFirstJobThatFailsLeavesNothingRunningBesideIt(t *testing.T) {
	for _, image := range []string{"job:bad", "job:never"} {
		r := startRig(t)
		r.apply(r.spec(image, asJob(spec.RestartNo), asGroup("side:1")))
		r.woken(5 * time.Minute)
		if a := r.attempt(); a.State != store.AttemptFailed || len(r.running()) != 0 {
			t.Errorf("%s: attempt %+v; %s", image, a, r.describe())
		}
		if got := strings.Join(r.startOrder(), " "); got != "migrate main log" {
			t.Errorf("%s: started %s", image, got)
		}
	}
}

func TestAJobsTimeDoesNotBeginWhileItWaits(t *testing.T) {
	job := startRig(t)
	db := job.beside("db")
	applyBoth(job, db, job.spec("job:1", asJob(spec.RestartNo), func(s *spec.Service) {
		s.DependsOn = []spec.Dependency{{Service: "db", Condition: spec.DependsReady}}
		s.CompletionTimeout = time.Second
	}), noRoute(db.spec("slow:1")))
	for range 100 {
		job.pass()
		db.pass()
		job.sync()
		job.clock.Advance(100 * time.Millisecond)
	}
	if a := job.part(); a.State != store.AttemptSucceeded {
		t.Errorf("attempt %+v", a)
	}
}

func TestAJobThatGoesBackToEarlierContentRunsAgain(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("job:1", asJob(spec.RestartNo)))
	r.settle(20, time.Minute)
	r.apply(r.spec("job:bad", asJob(spec.RestartNo)))
	r.settle(30, time.Minute)
	if a := r.attempt(); a.State != store.AttemptFailed {
		t.Fatalf("attempt %+v", a)
	}
	r.apply(r.spec("job:1", asJob(spec.RestartNo)))
	r.settle(30, time.Minute)
	if a, runs := r.attempt(), len(r.startOrder()); a.State != store.AttemptSucceeded || runs != 3 || len(r.engine.Containers()) != 1 {
		t.Errorf("attempt %+v after %d runs; %s", a, runs, r.describe())
	}
	r.passFor(10 * time.Second)
	if runs := len(r.startOrder()); runs != 3 {
		t.Errorf("it ran %d times", runs)
	}
}
