package application

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/secrets"
)

func TestAnotherTryOfTheSameContentHeedsSettingsThatChanged(t *testing.T) {
	late := func(d time.Duration) func(*spec.Service) { return func(s *spec.Service) { s.ReadyTimeout = d } }
	on := func(name string) func(*spec.Service) {
		return func(s *spec.Service) { s.DependsOn = []spec.Dependency{{Service: name, Condition: spec.DependsReady}} }
	}
	for name, c := range map[string][2]func(*spec.Service){
		"ready_timeout": {late(time.Second), late(10 * time.Second)},
		"depends_on":    {on("nobody"), func(*spec.Service) {}},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRig(t)
			r.apply(r.spec("good:1"))
			r.settle(30, time.Minute)
			r.apply(r.spec("slow:1", c[0]))
			r.passFor(10 * time.Second)
			if a := r.attempt(); a.State != store.AttemptFailed {
				t.Fatalf("attempt %+v", a)
			}
			r.apply(r.spec("slow:1", c[1]))
			r.passFor(10 * time.Second)
			if a := r.attempt(); a.State != store.AttemptSucceeded {
				t.Errorf("attempt %+v", a)
			}
		})
	}
}

func TestABrokenReplicaOfWhatServesDoesNotFailTheChangeThatMendsIt(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec(r.servesOnce(), withReplicas(2)))
	r.settle(60, time.Minute)
	r.engine.Kill(r.running()[0], 1, false)
	r.memory.TouchAll()
	r.passFor(30 * time.Second)
	r.apply(r.spec("slow:1", withReplicas(2)))
	r.passFor(20 * time.Second)
	if a, c := r.attempt(), r.ready(); a.State != store.AttemptSucceeded || c.Reason != string(ReasonDeployed) {
		t.Errorf("attempt %+v; condition %+v", a, c)
	}
}

func TestTrafficLeavesALostReplicaThatCannotBeMadeAgain(t *testing.T) {
	r := startRig(t)
	r.vault = rigSecrets{"shop/TOKEN": {"hunter2"}, "shop/config": {"a: 1"}}
	r.apply(r.spec("good:1", withSecrets, withReplicas(2)))
	r.settle(30, time.Minute)
	both := r.running()
	delete(r.vault, "shop/TOKEN")
	r.takeAway(both[0])
	r.passFor(5 * time.Second)
	if got := r.targets(); len(got) != 1 || got[0] != both[1] {
		t.Errorf("traffic goes to %v of %v", got, both)
	}
	if r.lastErr == nil || !strings.Contains(r.lastErr.Error(), "shop/TOKEN") || strings.Contains(r.lastErr.Error(), "hunter2") {
		t.Errorf("error %v", r.lastErr)
	}
}

// goneSecrets is a vault whose values have gone since their versions were read.
type goneSecrets struct{ rigSecrets }

func (goneSecrets) SecretValue(_ context.Context, key string, _ int64) (secrets.Secret, error) {
	return secrets.Secret{}, fmt.Errorf("%s: %w", key, secrets.ErrNotFound)
}

func TestASecretThatGoesBeforeTheContainerIsMadeFailsTheChange(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(30, time.Minute)
	before := r.running()
	r.vault = rigSecrets{"shop/TOKEN": {"hunter2"}, "shop/config": {"a: 1"}}
	r.build = func() *Controller {
		c := r.controller()
		c.secrets = goneSecrets{r.vault}
		return c
	}
	r.apply(r.spec("good:1", withSecrets))
	r.passFor(20 * time.Second)
	if a := r.attempt(); a.Reason != string(ReasonCreateFailed) || !strings.Contains(a.Message, "shop/TOKEN") {
		t.Errorf("attempt %+v", a)
	}
	if got := r.running(); len(got) != 1 || got[0] != before[0] || len(r.fileVolumes()) != 0 {
		t.Errorf("running %v; volumes %v", got, r.fileVolumes())
	}
}

func (r *rig) fileVolumes() []docker.Volume {
	r.t.Helper()
	all, err := r.engine.ListVolumes(context.Background(), map[string]string{docker.LabelFiles: ""})
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

func TestFilesGoWithTheLastReleaseThatHasAny(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		r := startRig(t)
		r.vault = rigSecrets{"shop/TOKEN": {"hunter2"}, "shop/config": {"a: 1"}}
		r.apply(r.spec("good:1", withSecrets))
		r.settle(30, time.Minute)
		if got := r.fileVolumes(); len(got) != 1 {
			t.Fatalf("volumes %v", got)
		}
		r.apply(r.spec("good:1"))
		for range 100 {
			r.pass()
			r.sync()
			if restarts {
				r.memory, r.store.puller = NewMemory(nil), nil
			}
			r.clock.Advance(100 * time.Millisecond)
		}
		if got := r.fileVolumes(); len(got) != 0 {
			t.Errorf("with restarts %v: volumes %v", restarts, got)
		}
	}
}

func TestLivenessCountsFailuresOfOneRun(t *testing.T) {
	r := startRig(t)
	image := r.image("weak:1", dockertest.Behaviour{PerRun: func(run dockertest.Run) dockertest.Behaviour {
		if run.Number == 0 { // two failures, then an end of its own
			return dockertest.Behaviour{Port: 8080, Exit: &dockertest.Exit{After: 5 * time.Second, Code: 1},
				Paths: map[string][]dockertest.StatusAt{"/live": {{Status: 200}, {After: 3500 * time.Millisecond, Status: 500}}}}
		}
		return dockertest.Behaviour{Port: 8080, Paths: map[string][]dockertest.StatusAt{"/live": {{Status: 500}, {After: 1500 * time.Millisecond, Status: 200}}}}
	}})
	r.apply(r.spec(image, func(s *spec.Service) {
		s.Liveness = &spec.Probe{Path: "/live", Interval: time.Second, Timeout: time.Second, Failures: 3}
	}))
	worst := 0
	for end := r.clock.Now().Add(20 * time.Second); r.clock.Now().Before(end); r.clock.Advance(100 * time.Millisecond) {
		r.pass()
		r.sync()
		for _, c := range r.engine.Containers() {
			worst = max(worst, r.memory.record(r.service, c.ID).live.Failures)
		}
	}
	if worst < 2 || r.stopping() {
		t.Errorf("at most %d failures, stopped %v", worst, r.stopping())
	}
}

func TestADeletionGivesContainersTheGraceOfTheirRelease(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("stuck:1", func(s *spec.Service) { s.StopGrace = 45 * time.Second }))
	r.settle(30, time.Minute)
	_, err := r.store.ApplyChange(t.Context(), store.Change{
		AppID: "shop", Kind: store.AttemptDelete, Now: r.clock.Now(), Delete: []string{r.service}, DeleteApp: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if done, _ := finalizePass(r); done {
			break
		}
		r.sync()
		r.clock.Advance(200 * time.Millisecond)
	}
	var asked, died time.Time
	for _, h := range r.engine.History() {
		switch h.Did {
		case dockertest.DidStop:
			asked = h.At
		case dockertest.DidDie:
			died = h.At
		}
	}
	if got := died.Sub(asked); asked.IsZero() || got != 45*time.Second {
		t.Errorf("killed after %s", got)
	}
}

func TestAServiceThatRequiresASecretFailsWithoutAVault(t *testing.T) {
	r := startRig(t)
	r.build = func() *Controller {
		c := r.controller()
		c.secrets = noSecrets{}
		return c
	}
	r.apply(r.spec("good:1", withSecrets))
	r.passFor(time.Second)
	if a := r.attempt(); a.Reason != string(ReasonSecretMissing) {
		t.Errorf("attempt %+v", a)
	}
	r.apply(r.spec("good:1", withSecrets, func(s *spec.Service) {
		s.Env[0].Secret.Optional, s.Files[0].Secret.Optional = true, true
	}))
	r.passFor(5 * time.Second)
	if a := r.attempt(); a.State != store.AttemptSucceeded {
		t.Errorf("attempt %+v", a)
	}
}

func TestAnOptionalSecretThatTurnsUpComesWithTheNextRelease(t *testing.T) {
	optional := func(s *spec.Service) {
		withSecrets(s)
		s.Env[0].Secret.Optional, s.Files[0].Secret.Optional = true, true
	}
	r := startRig(t)
	r.vault = rigSecrets{}
	r.apply(r.spec("good:1", optional))
	r.settle(30, time.Minute)
	first := r.running()[0]
	r.vault["shop/TOKEN"], r.vault["shop/config"] = []string{"hunter2"}, []string{"a: 1"}
	r.change("scale", func(d *store.DesiredService) { d.Replicas, d.Spec.Replicas = 2, 2 })
	r.settle(30, time.Minute)
	for _, name := range r.running() {
		if made, _ := r.engine.Spec(name); len(made.Env) != 0 {
			t.Errorf("%s of the old release has %v", name, made.Env)
		}
	}
	r.apply(r.spec("good:1", optional))
	r.settle(30, time.Minute)
	name := r.running()[0]
	made, _ := r.engine.Spec(name)
	if f, ok := r.engine.FileIn(name, "/etc/app/config.yaml"); name == first || len(made.Env) != 1 || !ok || string(f.Data) != "a: 1" {
		t.Errorf("%s after %s: %v, %q", name, first, made.Env, f.Data)
	}
	steps := strings.Join(r.steps(r.attempt().AttemptID), "\n")
	if steps == "" || strings.Contains(steps, "hunter2") || strings.Contains(steps, "a: 1") {
		t.Errorf("trace:\n%s", steps)
	}
}

// The name is one of those that `make test` also runs without the race detector.
func TestAnyStrategyMayFollowAnotherInTheHistoryOfAChange(t *testing.T) {
	for name, shape := range map[string]func(*spec.Service){"rolling": asRolling("", ""), "stateful": asStateful} {
		for _, strategy := range []spec.Strategy{spec.Rolling, spec.BlueGreen, spec.Recreate} {
			for _, then := range []spec.Strategy{spec.Rolling, spec.BlueGreen, spec.Recreate} {
				for _, after := range middles {
					r := startRig(t)
					r.apply(r.spec("good:1", shape))
					r.settle(60, time.Minute)
					r.apply(r.spec("slow:1", shape, func(s *spec.Service) { s.Strategy = strategy }))
					r.watchBounds(after)
					r.memory, r.store.puller = NewMemory(nil), nil
					r.apply(r.spec("slow:1", shape, func(s *spec.Service) { s.Strategy = then }))
					r.settle(80, time.Minute)
					if a := r.attempt(); a.State != store.AttemptSucceeded || len(r.targets()) != 3 || len(r.running()) != 3 || len(r.engine.WritersOverlap()) > 0 {
						t.Errorf("%s, %s then %s after %d passes: attempt %+v; %s", name, strategy, then, after, a, r.describe())
					}
				}
			}
		}
	}
}
