package application

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// starts lists the members in the order in which they were first started.
func (r *rig) startOrder() []string {
	var out []string
	for _, h := range r.engine.History() {
		if h.Did == "start" {
			_, member, _ := strings.Cut(h.Name, ".")
			if member == "" {
				member = "main"
			}
			out = append(out, member)
		}
	}
	return out
}

func TestInitsRunOneAfterTheOtherThenMainThenSidecars(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", func(s *spec.Service) {
		s.Inits = []spec.Member{{Name: "fetch", Image: "init:1"}, {Name: "migrate", Image: "init:1"}}
		s.Sidecars = []spec.Member{{Name: "log", Image: "side:1"}}
	}))
	r.settle(30, time.Minute)
	if got := strings.Join(r.startOrder(), " "); got != "fetch migrate main log" {
		t.Errorf("started in the order %s", got)
	}
	if c := r.ready(); c.Reason != string(ReasonDeployed) {
		t.Errorf("condition %+v", c)
	}
}

func TestASidecarThatMainWaitsForStartsFirstAndIsReadyBefore(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", func(s *spec.Service) {
		s.Sidecars = []spec.Member{{Name: "log", Image: "side:1"}, {Name: "proxy", Image: "slow:1", Port: 8080,
			Readiness: &spec.Probe{Path: "/", Interval: time.Second, Timeout: time.Second}}}
		s.SidecarsFirst = []string{"proxy"}
	}))
	r.settle(30, time.Minute)
	if got := strings.Join(r.startOrder(), " "); got != "proxy main log" {
		t.Errorf("started in the order %s", got)
	}
	var proxy, main time.Time
	for _, h := range r.engine.History() {
		if h.Did == "start" && strings.HasSuffix(h.Name, ".proxy") {
			proxy = h.At
		} else if h.Did == "start" && !strings.Contains(h.Name, ".") {
			main = h.At
		}
	}
	if wait := main.Sub(proxy); wait < 3*time.Second { // its StartDelay
		t.Errorf("main started %s after the proxy, which was not ready then", wait)
	}
}

func TestMembersOfAReplicaResolveEachOtherByName(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asGroup("side:1"), withReplicas(2)))
	r.settle(40, time.Minute)
	for _, c := range r.engine.Containers() {
		made, _ := r.engine.Spec(c.Name)
		group := mainName(c.Name)
		for _, h := range made.Hosts {
			other := group
			if h.Name != r.service[len(r.app)+1:] {
				other = group + "." + h.Name
			}
			s, err := r.engine.Inspect(t.Context(), other)
			if err != nil || s.Address != h.Address {
				t.Errorf("%s resolves %s to %s, which is not %s's address (%v)", c.Name, h.Name, h.Address, other, err)
			}
		}
		if len(made.Hosts) != 2 {
			t.Errorf("%s has %d host entries", c.Name, len(made.Hosts))
		}
	}
}

func TestAFailingInitFailsTheChangeAndTheOldReleaseServes(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asGroup("side:1")))
	r.settle(30, time.Minute)
	r.apply(r.spec("good:2", asGroup("side:1"), func(s *spec.Service) { s.Inits[0].Image = "init:bad" }))
	r.settle(40, time.Minute)
	a := r.attempt()
	if a.State != store.AttemptFailed || a.Reason != string(ReasonInitFailed) || !strings.Contains(a.Message, "code 2") || !strings.Contains(a.Message, "no schema") {
		t.Errorf("attempt %+v", a)
	}
	if c := r.ready(); c.Reason != string(ReasonPreviousServing) || c.Status != reconcile.True {
		t.Errorf("condition %+v", c)
	}
	if got := r.running(); len(got) != 2 {
		t.Errorf("running: %v", got)
	}
}

func TestAnInitThatNeverEndsFailsTheChange(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", func(s *spec.Service) { s.Inits = []spec.Member{{Name: "wait", Image: "init:hangs"}} }))
	r.settle(40, 12*time.Minute)
	if a := r.attempt(); a.Reason != string(ReasonInitFailed) || !strings.Contains(a.Message, "did not end within 10m0s") {
		t.Errorf("attempt %+v", a)
	}
}

func TestASidecarThatEndsFailsTheChange(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asGroup("side:1")))
	r.settle(30, time.Minute)
	r.apply(r.spec("good:1", asGroup("side:ends")))
	r.settle(40, time.Minute)
	if a := r.attempt(); a.State != store.AttemptFailed || a.Reason != string(ReasonExited) || !strings.Contains(a.Message, ".log exited") {
		t.Errorf("attempt %+v", a)
	}
	if c := r.ready(); c.Reason != string(ReasonPreviousServing) {
		t.Errorf("condition %+v", c)
	}
}

func TestASidecarsCrashTakesNoTrafficFromTheLastReplica(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asGroup("side:1")))
	r.settle(30, time.Minute)
	r.store.onActive = func(_, after store.ActiveRelease) {
		if len(after.Targets) == 0 {
			t.Errorf("the last replica was taken off the route")
		}
	}
	name := mainName(r.running()[0]) + ".log"
	if !r.engine.Kill(name, 1, false) {
		t.Fatalf("no container %s runs", name)
	}
	r.memory.TouchAll()
	r.passFor(10 * time.Second)
	if c := r.ready(); c.Reason != string(ReasonDeployed) {
		t.Errorf("condition %+v", c)
	}
}

func TestALostSidecarIsMadeAgainAtItsAddress(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asGroup("side:1")))
	r.settle(30, time.Minute)
	name := mainName(r.running()[0]) + ".log"
	before, err := r.engine.Inspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	r.takeAway(name)
	r.passFor(10 * time.Second)
	after, err := r.engine.Inspect(t.Context(), name)
	if err != nil || !after.Running() || after.Address != before.Address {
		t.Errorf("before %+v, after %+v, %v", before, after, err)
	}
	if c := r.ready(); c.Reason != string(ReasonDeployed) {
		t.Errorf("condition %+v", c)
	}
}

func TestAnotherImageOfASidecarAloneIsAnotherRelease(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asGroup("side:1")))
	r.settle(30, time.Minute)
	before := r.attempt().ReleaseID
	r.apply(r.spec("good:1", asGroup("side:2")))
	r.settle(40, time.Minute)
	if a := r.attempt(); a.State != store.AttemptSucceeded || a.ReleaseID == before {
		t.Errorf("attempt %+v after release %s", a, before)
	}
	img, err := r.engine.Image(t.Context(), "side:2")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.engine.Containers() {
		if strings.HasSuffix(c.Name, ".log") && c.ImageID != img.ID {
			t.Errorf("%s runs %s", c.Name, c.ImageID)
		}
	}
}

func TestAnExecProbeDecidesAboutReadiness(t *testing.T) {
	withExec := func(s *spec.Service) {
		s.Readiness = &spec.Probe{Exec: []string{"/ready"}, Interval: 100 * time.Millisecond, Timeout: time.Second}
	}
	r := startRig(t)
	r.apply(r.spec("exec:1", withExec))
	begun := r.clock.Now()
	r.settle(60, time.Minute)
	if c := r.ready(); c.Reason != string(ReasonDeployed) {
		t.Fatalf("condition %+v", c)
	}
	if took := r.clock.Now().Sub(begun); took < 400*time.Millisecond {
		t.Errorf("ready after %s", took)
	}
	r.apply(r.spec("exec:bad", withExec))
	r.settle(60, time.Minute)
	if a := r.attempt(); a.Reason != string(ReasonReadinessFailed) || !strings.Contains(a.Message, `command "/ready" exited with code 1: "the index is being built"`) {
		t.Errorf("attempt %+v", a)
	}
}

func TestAHangingContainerIsRestartedInPlace(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("hang:1", func(s *spec.Service) {
		s.Liveness = &spec.Probe{Path: "/", Interval: time.Second, Timeout: time.Second, Failures: 2}
	}))
	r.passFor(3 * time.Second)
	before := r.running()
	seen := map[string]bool{}
	for end := r.clock.Now().Add(20 * time.Second); r.clock.Now().Before(end); r.clock.Advance(100 * time.Millisecond) {
		r.pass()
		r.sync()
		seen[r.ready().Reason] = true
	}
	if !seen[string(ReasonLivenessDegraded)] || !seen[string(ReasonLivenessRestarting)] {
		t.Errorf("conditions seen: %v", seen)
	}
	if got := r.running(); len(got) != 1 || got[0] != before[0] {
		t.Errorf("running %v, before %v", got, before)
	}
	if c := r.ready(); c.Reason != string(ReasonDeployed) {
		t.Errorf("condition %+v", c)
	}
	if n := strings.Count(strings.Join(r.startOrder(), " "), "main"); n != 2 {
		t.Errorf("started %d times", n)
	}
}

func TestSecretsAndFilesAreInTheContainerBeforeItStarts(t *testing.T) {
	r := startRig(t)
	r.vault = rigSecrets{"shop/TOKEN": {"hunter2"}, "shop/config": {"a: 1\n"}}
	r.apply(r.spec("good:1", withSecrets))
	r.settle(30, time.Minute)
	name := r.running()[0]
	made, _ := r.engine.Spec(name)
	if len(made.Env) != 1 || made.Env[0] != (docker.EnvVar{Name: "TOKEN", Value: "hunter2"}) {
		t.Errorf("environment %v", made.Env)
	}
	if f, ok := r.engine.FileIn(name, "/etc/app/config.yaml"); !ok || string(f.Data) != "a: 1\n" {
		t.Errorf("file %+v, %v", f, ok)
	}
	rel, err := r.store.GetRelease(t.Context(), r.attempt().ReleaseID)
	if err != nil || rel.Spec.Env[0].Secret.Version != 1 {
		t.Errorf("release %+v, %v", rel.Spec.Env, err)
	}
	// Another value is another release; the volume of the old files goes.
	r.vault["shop/TOKEN"] = append(r.vault["shop/TOKEN"], "hunter3")
	r.apply(r.spec("good:1", withSecrets))
	r.settle(40, time.Minute)
	made, _ = r.engine.Spec(r.running()[0])
	if made.Env[0].Value != "hunter3" {
		t.Errorf("environment %v", made.Env)
	}
	if vols, err := r.engine.ListVolumes(t.Context(), map[string]string{docker.LabelFiles: ""}); err != nil || len(vols) != 1 {
		t.Errorf("file volumes %v, %v", vols, err)
	}
}

func TestARequiredSecretWithoutAValueFailsTheChange(t *testing.T) {
	r := startRig(t)
	r.vault = rigSecrets{"shop/config": {"x"}}
	r.apply(r.spec("good:1", withSecrets))
	r.settle(30, time.Minute)
	if a := r.attempt(); a.State != store.AttemptFailed || a.Reason != string(ReasonSecretMissing) || !strings.Contains(a.Message, "shop/TOKEN") {
		t.Errorf("attempt %+v", a)
	}
}

func TestAStoppedServiceKeepsItsContainersAndStartsThemAgain(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asGroup("side:1"), withReplicas(2)))
	r.settle(40, time.Minute)
	before := r.running()
	r.putDesired(func(d *store.DesiredService) { d.Stopped = true })
	r.settle(40, time.Minute)
	if c := r.ready(); c.Reason != string(ReasonStopped) || len(r.running()) != 0 || len(r.engine.Containers()) != 6 {
		t.Errorf("condition %+v; %s", c, r.describe())
	}
	r.putDesired(func(d *store.DesiredService) { d.Stopped = false })
	r.settle(40, time.Minute)
	if c := r.ready(); c.Reason != string(ReasonDeployed) || strings.Join(r.running(), " ") != strings.Join(before, " ") {
		t.Errorf("condition %+v; running %v, before %v", c, r.running(), before)
	}
}

func TestARollbackWhileTheOldGroupIsBeingStoppedStartsItAgain(t *testing.T) {
	r := startRig(t)
	slowStop := func(s *spec.Service) { s.Sidecars = []spec.Member{{Name: "log", Image: "slow:1"}} }
	r.apply(r.spec("good:1", slowStop))
	r.settle(40, time.Minute)
	first := r.attempt().ReleaseID
	r.apply(r.spec("good:2", slowStop))
	for !r.stopping() {
		r.pass()
		r.sync()
		r.clock.Advance(100 * time.Millisecond)
	}
	r.change("rollback", func(d *store.DesiredService) { d.ReleaseID = first })
	r.passFor(40 * time.Second)
	if a := r.attempt(); a.State != store.AttemptSucceeded || a.ReleaseID != first {
		t.Errorf("attempt %+v; %s", a, r.describe())
	}
}

// stopping reports whether a stop was asked for already.
func (r *rig) stopping() bool {
	for _, h := range r.engine.History() {
		if h.Did == "stop" {
			return true
		}
	}
	return false
}
