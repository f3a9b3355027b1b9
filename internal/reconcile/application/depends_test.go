package application

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// beside is a rig of another service of the same app, on the same engine.
func (r *rig) beside(service string) *rig {
	other := *r
	other.service = r.app + "-" + service
	other.build = other.controller
	return &other
}

// applyBoth changes two services in one attempt.
func applyBoth(r, other *rig, a, b spec.Service) {
	r.t.Helper()
	_, err := r.store.ApplyChange(context.Background(), store.Change{
		AppID: r.app, Kind: store.AttemptApply, Now: r.clock.Now(),
		Put: []store.DesiredService{
			{Name: r.service, AppID: r.app, Image: a.Image, Spec: a, Replicas: a.Replicas},
			{Name: other.service, AppID: r.app, Image: b.Image, Spec: b, Replicas: b.Replicas},
		},
		Actions: map[string]string{r.service: "update", other.service: "update"},
	})
	if err != nil {
		r.t.Fatalf("apply: %v", err)
	}
}

// part is this service's part of its newest attempt.
func (r *rig) part() store.AttemptService {
	r.t.Helper()
	d, err := r.store.GetDesiredService(context.Background(), r.service)
	if err != nil {
		r.t.Fatal(err)
	}
	a, err := r.store.GetAttempt(context.Background(), d.AttemptID)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range a.Services {
		if p.Service == r.service {
			return p
		}
	}
	r.t.Fatalf("attempt %d is not about %s", a.ID, r.service)
	return store.AttemptService{}
}

func TestAServiceWaitsForWhatItDependsOn(t *testing.T) {
	withoutRace(t)
	onDB := func(c spec.DependsStatus) func(*spec.Service) {
		return func(s *spec.Service) {
			s.DependsOn = []spec.Dependency{{Service: "db", Condition: c}}
			s.DependsTimeout = 30 * time.Second
		}
	}
	for name, c := range map[string]struct {
		condition spec.DependsStatus
		db        func(*rig) spec.Service
		state     store.AttemptState
		reason    string
		words     string
	}{
		"started":          {spec.DependsStarted, func(r *rig) spec.Service { return r.spec("slow:1") }, store.AttemptSucceeded, "Deployed", ""},
		"ready":            {spec.DependsReady, func(r *rig) spec.Service { return r.spec("slow:1") }, store.AttemptSucceeded, "Deployed", ""},
		"completed":        {spec.DependsCompleted, func(r *rig) spec.Service { return r.spec("job:1", asJob(spec.RestartNo)) }, store.AttemptSucceeded, "Deployed", ""},
		"that fails":       {spec.DependsReady, func(r *rig) spec.Service { return r.spec("exits:1") }, store.AttemptFailed, string(ReasonDependencyFailed), "ExitedDuringReadiness"},
		"a job that fails": {spec.DependsCompleted, func(r *rig) spec.Service { return r.spec("job:bad", asJob(spec.RestartNo)) }, store.AttemptFailed, string(ReasonDependencyFailed), "CompletionFailed"},
		"that takes too long": {spec.DependsReady, func(r *rig) spec.Service {
			return r.spec("never:1", func(s *spec.Service) { s.ReadyTimeout = time.Hour })
		}, store.AttemptFailed, string(ReasonDependencyLate), "within 30s"},
	} {
		t.Run(name, func(t *testing.T) {
			web := startRig(t)
			db := web.beside("db")
			applyBoth(web, db, web.spec("good:1", onDB(c.condition)), noRoute(c.db(db)))
			waited := false
			for end := web.clock.Now().Add(40 * time.Second); web.clock.Now().Before(end); web.clock.Advance(100 * time.Millisecond) {
				web.pass()
				waited = waited || web.ready().Reason == string(ReasonWaiting)
				if waiting := strings.Join(web.memory.Waiting(), " "); web.ready().Reason == string(ReasonWaiting) && waiting != web.service {
					t.Fatalf("condition %+v, waiting %q", web.ready(), waiting)
				}
				db.pass()
				web.sync()
			}
			if got := web.part(); got.State != c.state || got.Reason != c.reason || !strings.Contains(got.Message, c.words) {
				t.Errorf("attempt %+v", got)
			}
			if left := web.memory.Waiting(); len(left) > 0 {
				t.Errorf("it still waits: %v", left)
			}
			if !waited {
				t.Error("it did not wait")
			}
		})
	}
}

// noRoute leaves out the domains, which another service of the test has.
func noRoute(s spec.Service) spec.Service {
	s.Domains = nil
	return s
}

func TestWaitingForADependencyLeavesTheOldReleaseServing(t *testing.T) {
	web := startRig(t)
	db := web.beside("db")
	web.apply(web.spec("good:1"))
	web.settle(30, time.Minute)
	applyBoth(web, db, web.spec("good:2", func(s *spec.Service) {
		s.DependsOn = []spec.Dependency{{Service: "db", Condition: spec.DependsReady}}
	}), noRoute(db.spec("slow:1")))
	web.store.onActive = func(_, after store.ActiveRelease) {
		if after.Service == web.service && len(after.Targets) == 0 {
			t.Error("the old release was taken off its route")
		}
	}
	for range 100 {
		web.pass()
		db.pass()
		web.sync()
		web.clock.Advance(100 * time.Millisecond)
	}
	if got := web.part(); got.State != store.AttemptSucceeded {
		t.Errorf("attempt %+v", got)
	}
}

// together runs passes of both services for that long.
func (r *rig) together(other *rig, d time.Duration) {
	for end := r.clock.Now().Add(d); r.clock.Now().Before(end); r.clock.Advance(100 * time.Millisecond) {
		r.pass()
		other.pass()
		r.sync()
	}
}

func onDB(s *spec.Service) {
	s.DependsOn = []spec.Dependency{{Service: "db", Condition: spec.DependsReady}}
}

func TestEveryTryOfAFirstDeployWaitsForWhatItDependsOn(t *testing.T) {
	withoutRace(t)
	for image, shape := range map[string]func(*spec.Service){"good:1": func(*spec.Service) {}, "job:1": asJob(spec.RestartNo)} {
		web := startRig(t)
		db := web.beside("db")
		applyBoth(web, db, web.spec(image, shape, onDB), noRoute(db.spec("exits:1")))
		web.together(db, 30*time.Second)
		for _, h := range web.engine.History() {
			if h.Did == "start" && strings.HasPrefix(h.Name, web.service) {
				t.Fatalf("%s was started, and db never was ready", h.Name)
			}
		}
		db.apply(noRoute(db.spec("good:2")))
		web.together(db, time.Minute)
		if c := web.ready(); c.Status != reconcile.True {
			t.Errorf("once db is there: %+v", c)
		}
	}
}

func TestADependencyThatGoesAwayLaterStopsNobody(t *testing.T) {
	withoutRace(t)
	for name, c := range map[string]struct {
		image string
		shape func(*spec.Service)
	}{
		"blue-green": {"slow:1", func(*spec.Service) {}}, "hand-over": {"slow:1", withVolume}, "rolling": {"slow:1", asRolling("", "")},
	} {
		t.Run(name, func(t *testing.T) {
			web := startRig(t)
			db := web.beside("db")
			db.apply(noRoute(db.spec("good:1")))
			web.apply(web.spec("good:1", c.shape, onDB))
			web.together(db, 10*time.Second)
			begun := len(web.engine.Containers())
			web.apply(web.spec(c.image, c.shape, onDB))
			for range 100 {
				if len(web.engine.Containers()) > begun {
					break
				}
				web.together(db, 50*time.Millisecond)
			}
			web.together(db, time.Second)
			for _, name := range web.running() {
				if strings.HasPrefix(name, db.service) {
					web.engine.Kill(name, 1, false)
				}
			}
			web.memory.TouchAll()
			web.together(db, 30*time.Second)
			if a := web.part(); a.State != store.AttemptSucceeded {
				t.Errorf("attempt %+v; %s", a, web.describe())
			}
		})
	}
}

func TestADependencyThatCameUpAfterItsChangeFailedIsThere(t *testing.T) {
	web := startRig(t)
	db := web.beside("db")
	runs := 0
	image := web.image("later:1", dockertest.Behaviour{PerRun: func(dockertest.Run) dockertest.Behaviour {
		if runs++; runs == 1 {
			return images["exits:1"]
		}
		return images["good:1"]
	}})
	db.apply(noRoute(db.spec(image)))
	for range 200 {
		db.pass()
		web.sync()
		web.clock.Advance(100 * time.Millisecond)
	}
	if a, c := db.part(), db.ready(); a.State != store.AttemptFailed || c.Reason != string(ReasonDeployed) {
		t.Fatalf("attempt %+v, condition %+v", a, c)
	}
	web.apply(web.spec("good:1", onDB))
	web.together(db, 10*time.Second)
	if a := web.part(); a.State != store.AttemptSucceeded {
		t.Errorf("attempt %+v", a)
	}
}
