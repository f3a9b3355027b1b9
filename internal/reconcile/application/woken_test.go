package application

import (
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// woken lets that much time pass and runs passes only when something asks for
// one, as the daemon does: the pass before, an event of the engine, or a drain
// that has ended. It returns how many there were.
func (r *rig) woken(d time.Duration) int {
	r.t.Helper()
	event, over := true, false
	defer func() { over = true }()
	r.engine.OnEvent(func(e docker.Event) {
		if !over && e.Labels[docker.LabelService] == r.service && e.Action != docker.EventCreate {
			r.memory.Touch(r.service, e.ContainerID)
			event = true
		}
	})
	end := r.clock.Now().Add(d)
	due, passes := end, 0
	for r.clock.Now().Before(end) {
		if !event && r.clock.Now().Before(due) {
			next := due
			if at, ok := r.clock.Next(); ok && at.Before(next) {
				next = at
			}
			for _, since := range r.plane.draining {
				if at := since.Add(r.plane.drainFor); at.Before(next) {
					next, due = at, at
				}
			}
			r.clock.Advance(next.Sub(r.clock.Now()))
			continue
		}
		event = false
		r.pass()
		r.sync()
		if passes++; passes > 3000 {
			r.t.Fatalf("%d passes until %s: %+v; %s", passes, r.clock.Now(), r.ready(), r.describe())
		}
		due = end
		if wait := r.last.RequeueAfter; r.lastErr != nil {
			due = r.clock.Now().Add(200 * time.Millisecond)
		} else if wait > 0 {
			due = r.clock.Now().Add(wait)
		}
	}
	return passes
}

// withProxyFirst is a service that waits for a sidecar which is slow to be ready.
func withProxyFirst(s *spec.Service) {
	s.Sidecars = []spec.Member{{Name: "proxy", Image: "slow:1", Port: 8080,
		Readiness: &spec.Probe{Path: "/", Interval: time.Second, Timeout: time.Second}}}
	s.SidecarsFirst = []string{"proxy"}
}

func TestWhatIsWaitedForWakesTheServiceAndThenItRests(t *testing.T) {
	for name, c := range map[string]struct {
		image, next string
		shape       []func(*spec.Service)
		want        string
	}{
		"one container":                 {"good:1", "good:2", nil, string(ReasonDeployed)},
		"a group":                       {"good:1", "good:2", []func(*spec.Service){asGroup("side:1")}, string(ReasonDeployed)},
		"a sidecar first":               {"good:1", "good:2", []func(*spec.Service){withProxyFirst}, string(ReasonDeployed)},
		"a job":                         {"job:1", "job:2", []func(*spec.Service){asJob(spec.RestartNo)}, ReasonCompleted},
		"a job that is run again":       {"job:second", "job:1", []func(*spec.Service){asJob(spec.RestartOnFailure)}, ReasonCompleted},
		"a job after a sidecar":         {"job:1", "job:2", []func(*spec.Service){asJob(spec.RestartNo), withProxyFirst}, ReasonCompleted},
		"a job with an init beside one": {"job:1", "job:2", []func(*spec.Service){asJob(spec.RestartNo), asGroup("side:1")}, ReasonCompleted},
		"replicas one by one":           {"good:1", "good:2", []func(*spec.Service){asRolling("", "")}, string(ReasonDeployed)},
		"replicas with volumes":         {"good:1", "good:2", []func(*spec.Service){asStateful}, string(ReasonDeployed)},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRig(t)
			for _, image := range []string{c.image, c.next} {
				r.apply(r.spec(image, c.shape...))
				n := r.woken(20 * time.Second)
				if got := r.ready(); got.Reason != c.want || r.attempt().State != store.AttemptSucceeded {
					t.Fatalf("%s after %d passes: %+v; %s", image, n, got, r.describe())
				}
			}
			if n := r.woken(time.Minute); n > 3 {
				t.Errorf("%d passes in a minute of rest", n)
			}
		})
	}
}

func TestAnInitThatIsPausedPastItsTimeFailsTheChange(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", func(s *spec.Service) { s.Inits = []spec.Member{{Name: "wait", Image: "init:hangs"}} }))
	r.woken(time.Second)
	r.engine.Pause(r.running()[0])
	r.woken(11 * time.Minute)
	if a := r.attempt(); a.Reason != string(ReasonInitFailed) {
		t.Errorf("attempt %+v", a)
	}
}

func TestAnInitThatHangsInAFurtherReplicaEndsTheAttempt(t *testing.T) {
	r := startRig(t)
	init := r.image("init:second", dockertest.Behaviour{PerRun: func(run dockertest.Run) dockertest.Behaviour {
		if run.Spec.Labels[docker.LabelReplica] == "0" {
			return groupImages["init:1"]
		}
		return dockertest.Behaviour{}
	}})
	r.apply(r.spec("good:1", func(s *spec.Service) { s.Inits = []spec.Member{{Name: "wait", Image: init}} }))
	r.woken(10 * time.Second)
	r.change("scale", func(d *store.DesiredService) { d.Replicas, d.Spec.Replicas = 2, 2 })
	n := r.woken(30 * time.Minute)
	if a := r.attempt(); a.Reason != string(ReasonInitFailed) || n > 400 {
		t.Errorf("attempt %+v after %d passes", a, n)
	}
}

func TestLivenessOfWhatTakesNoTrafficKeepsNobodyBusy(t *testing.T) {
	r := startRig(t)
	side := r.image("side:loops", dockertest.Behaviour{PerRun: func(run dockertest.Run) dockertest.Behaviour {
		switch {
		case run.Spec.Labels[docker.LabelReplica] == "0":
			return dockertest.Behaviour{}
		case run.Number == 0:
			return dockertest.Behaviour{Exit: &dockertest.Exit{After: 20 * time.Second, Code: 1}}
		}
		return dockertest.Behaviour{Exit: &dockertest.Exit{After: 100 * time.Millisecond, Code: 1}}
	}})
	r.apply(r.spec("good:1", asGroup(side), withReplicas(2), func(s *spec.Service) {
		s.Liveness = &spec.Probe{Path: "/", Interval: 5 * time.Second, Timeout: time.Second}
	}))
	r.woken(15 * time.Second)
	if got := r.targets(); len(got) != 2 {
		t.Fatalf("traffic goes to %v", got)
	}
	if n := r.woken(5 * time.Minute); n > 300 || len(r.targets()) != 1 {
		t.Errorf("%d passes; traffic goes to %v", n, r.targets())
	}
}

func TestAHangingContainerIsStoppedOnceNoRequestComesToItAnyMore(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("hang:1", func(s *spec.Service) {
		s.Liveness = &spec.Probe{Path: "/", Interval: time.Second, Timeout: time.Second, Failures: 2}
	}))
	r.woken(3 * time.Second)
	for range 200 { // the data plane is slow to take its new table
		r.pass()
		r.clock.Advance(100 * time.Millisecond)
	}
	if len(r.targets()) != 0 || r.stopping() {
		t.Fatalf("traffic goes to %v, stopped %v", r.targets(), r.stopping())
	}
	r.woken(20 * time.Second)
	if c := r.ready(); !r.stopping() || c.Reason != string(ReasonDeployed) {
		t.Errorf("stopped %v; condition %+v", r.stopping(), c)
	}
	r.woken(2 * time.Minute)

	r.plane.down = true // nobody can take anything: it is started again all the same
	r.engine.AddImage("hang:1", docker.Image{}, hanging())
	r.putDesired(func(d *store.DesiredService) { d.RestartNonce = "1" })
	r.woken(5 * time.Minute)
	if n := len(r.startOrder()); n < 4 {
		t.Errorf("%d starts; %+v; %s", n, r.ready(), r.describe())
	}
}

func TestNothingIsStoppedOnAnOldAnswer(t *testing.T) {
	r := startRig(t)
	image := r.image("stalls:1", dockertest.Behaviour{Port: 8080, Paths: map[string][]dockertest.StatusAt{
		"/live": {{Status: 200}, {After: 5 * time.Second, Status: 500}, {After: 9 * time.Second, Status: 200}},
	}})
	r.apply(r.spec(image, func(s *spec.Service) {
		s.Liveness = &spec.Probe{Path: "/live", Interval: time.Second, Timeout: time.Second, Failures: 2}
	}))
	r.woken(3 * time.Second)
	unrouted := false
	for range 100 { // the data plane is slow to take its new table
		r.pass()
		unrouted = unrouted || len(r.targets()) == 0
		r.clock.Advance(100 * time.Millisecond)
	}
	if got := r.targets(); !unrouted || len(got) != 1 || r.stopping() {
		t.Errorf("unrouted %v, traffic goes to %v again, stopped %v", unrouted, got, r.stopping())
	}
}

func TestLivenessWaitsForWhatStartedWithTheMachine(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("slow:1", func(s *spec.Service) {
		s.Liveness = &spec.Probe{Path: "/", Interval: time.Second, Timeout: time.Second, Failures: 2}
	}))
	r.woken(10 * time.Second)
	r.engine.RestartEngine(false)
	r.memory, r.store.puller = NewMemory(nil), nil
	r.woken(10 * time.Second)
	if c := r.ready(); r.stopping() || c.Reason != string(ReasonDeployed) {
		t.Errorf("stopped %v; condition %+v", r.stopping(), c)
	}
}
