package application

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// bounds watches how many containers run and how many targets the row has.
type bounds struct{ most, fewest int }

func (r *rig) watchBounds(passes int) bounds {
	b := bounds{fewest: 1 << 20}
	for range passes {
		r.pass()
		r.sync()
		b.most = max(b.most, len(r.running()))
		if a, err := r.store.GetActiveRelease(r.t.Context(), r.service); err == nil {
			b.fewest = min(b.fewest, len(a.Targets))
		}
		r.clock.Advance(100 * time.Millisecond)
	}
	return b
}

func TestARollingChangeKeepsWithinItsBounds(t *testing.T) {
	for name, c := range map[string]struct {
		surge, unavailable spec.Amount
		most, fewest       int
	}{
		"the defaults":           {"", "", 4, 3},
		"one missing, none more": {"0", "1", 3, 2},
		"two more":               {"2", "0", 5, 3},
		"more than all":          {"9", "0", 6, 3},
		"shares":                 {"34%", "34%", 5, 2}, // 1.02 up is 2, 1.02 down is 1
		"both nothing":           {"0", "0", 3, 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRig(t)
			r.apply(r.spec("good:1", asRolling(c.surge, c.unavailable)))
			r.settle(40, time.Minute)
			r.apply(r.spec("good:2", asRolling(c.surge, c.unavailable)))
			got := r.watchBounds(150)
			if got.most > c.most || got.fewest < c.fewest {
				t.Errorf("at most %d ran, at least %d served; want %d and %d", got.most, got.fewest, c.most, c.fewest)
			}
			if a := r.attempt(); a.State != store.AttemptSucceeded {
				t.Errorf("attempt %+v", a)
			}
			if c := r.ready(); c.Reason != string(ReasonDeployed) || len(r.running()) != 3 {
				t.Errorf("condition %+v; %s", c, r.describe())
			}
		})
	}
}

func TestARollingChangeGoesOnAfterARestart(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asRolling("", "")))
	r.settle(40, time.Minute)
	r.apply(r.spec("good:2", asRolling("", "")))
	for range 200 {
		r.pass()
		r.sync()
		r.memory, r.store.puller = NewMemory(nil), nil // as a new process
		r.clock.Advance(100 * time.Millisecond)
	}
	if a := r.attempt(); a.State != store.AttemptSucceeded {
		t.Errorf("attempt %+v; %s", a, r.describe())
	}
}

func TestAFailedRollingChangeTurnsRoundAndServesOn(t *testing.T) {
	// The first new replica comes up, the second does not.
	r := startRig(t)
	r.apply(r.spec("good:1", asRolling("", "")))
	r.settle(40, time.Minute)
	r.apply(r.spec("half:1", asRolling("", "")))
	got := r.watchBounds(200)
	if got.fewest < 3 {
		t.Errorf("only %d served meanwhile", got.fewest)
	}
	if a := r.attempt(); a.State != store.AttemptFailed || a.Reason != string(ReasonExited) {
		t.Errorf("attempt %+v", a)
	}
	active, err := r.store.GetActiveRelease(t.Context(), r.service)
	if err != nil || active.ReleaseID != r.service+"-v1" || len(active.Targets) != 3 {
		t.Errorf("active %+v, %v", active, err)
	}
	if c := r.ready(); c.Reason != string(ReasonPreviousServing) || c.Status != reconcile.True || len(r.running()) != 3 {
		t.Errorf("condition %+v; %s", c, r.describe())
	}
}

func TestARollingChangeThatIsOvertakenEndsWithTheNewest(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asRolling("", "")))
	r.settle(40, time.Minute)
	r.apply(r.spec("slow:1", asRolling("", "")))
	r.watchBounds(45) // one of three is replaced
	for _, strategy := range []spec.Strategy{spec.Rolling, spec.BlueGreen} {
		r.apply(r.spec("good:2", asRolling("", ""), func(s *spec.Service) { s.Strategy = strategy }))
		if got := r.watchBounds(200); got.fewest < 3 {
			t.Errorf("%s: only %d served meanwhile", strategy, got.fewest)
		}
		if a := r.attempt(); a.State != store.AttemptSucceeded || len(r.running()) != 3 {
			t.Errorf("%s: attempt %+v; %s", strategy, a, r.describe())
		}
		r.apply(r.spec("slow:1", asRolling("", "")))
		r.watchBounds(45)
	}
}

func TestReplicasOfAStatefulServiceKeepTheirVolumesAndNeverShareThem(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asStateful))
	r.settle(60, time.Minute)
	r.apply(r.spec("good:2", asStateful))
	if got := r.watchBounds(200); got.fewest < 2 || got.most > 3 {
		t.Errorf("bounds %+v", got)
	}
	if a := r.attempt(); a.State != store.AttemptSucceeded {
		t.Fatalf("attempt %+v; %s", a, r.describe())
	}
	if o := r.engine.WritersOverlap(); len(o) > 0 {
		t.Errorf("two writers: %+v", o)
	}
	for _, c := range r.engine.Containers() {
		want := "berth_shop_data_" + c.Labels["berth.replica"]
		if len(c.Mounts) != 1 || c.Mounts[0].Volume != want {
			t.Errorf("%s mounts %+v, want %s", c.Name, c.Mounts, want)
		}
		made, _ := r.engine.Spec(c.Name)
		if made.Hostname != "web-"+c.Labels["berth.replica"] {
			t.Errorf("%s is called %q", c.Name, made.Hostname)
		}
	}
}

func TestAFailedChangeOfAStatefulServiceStartsTheOldReplicaAgain(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asStateful))
	r.settle(60, time.Minute)
	r.apply(r.spec("exits:1", asStateful))
	if got := r.watchBounds(200); got.fewest < 2 {
		t.Errorf("bounds %+v", got)
	}
	if a := r.attempt(); a.State != store.AttemptFailed {
		t.Fatalf("attempt %+v", a)
	}
	if c := r.ready(); c.Status != reconcile.True || len(r.running()) != 3 || strings.Contains(r.describe(), "exited") {
		t.Errorf("condition %+v; %s", c, r.describe())
	}
	if o := r.engine.WritersOverlap(); len(o) > 0 {
		t.Errorf("two writers: %+v", o)
	}
}

func TestAFailedRollingChangeLeavesTheNumberOfReplicasOfWhatServes(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asRolling("", "")))
	r.settle(40, time.Minute)
	r.apply(r.spec("half:1", asRolling("", ""), withReplicas(4)))
	r.watchBounds(200)
	active, err := r.store.GetActiveRelease(t.Context(), r.service)
	if err != nil || active.Replicas != 3 || len(active.Targets) != 3 || len(r.running()) != 3 {
		t.Errorf("active %+v, %v; %s", active, err, r.describe())
	}
}
