package application

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

// The old replicas of a stateful service have crashed so often that they wait to be
// started again. A change that comes when that is due starts none of them beside
// its successor.
func TestAChangeOfAStatefulServiceThatCrashesStartsNobodyBesideItsSuccessor(t *testing.T) {
	for _, replicas := range []int{1, 2, 3} {
		r := startRig(t)
		dies := r.image("dies:1", dockertest.Behaviour{Port: 8080, Exit: &dockertest.Exit{After: 9 * time.Second, Code: 1}})
		r.apply(r.spec(dies, asStateful))
		r.settle(40, 5*time.Second)
		for i := 0; strings.Contains(r.describe(), "running") || strings.Contains(r.describe(), "restarting"); i++ {
			if r.passFor(100 * time.Millisecond); i > 3000 {
				t.Fatalf("it does not crash: %s", r.describe())
			}
		}
		r.apply(r.spec("good:2", asStateful, withReplicas(replicas)))
		var w *World
		for range 3 {
			r.pass() // until the release is known
			var err error
			if w, _, err = r.controller().Observe(context.Background()); err != nil {
				t.Fatal(err)
			}
			if w.Release != nil {
				break
			}
		}
		for i := range w.Groups {
			for j := range w.Groups[i].Members {
				w.Groups[i].Members[j].RestartAt = time.Time{} // that time has come
			}
		}
		starts := map[int]string{}
		for _, a := range PlanPass(*w).Actions {
			if a.Kind != ActStart {
				continue
			}
			if other := starts[a.Replica]; other != "" {
				t.Errorf("%d replicas: %s is started beside %s", replicas, a.Container, other)
			}
			starts[a.Replica] = a.Container
		}
		if len(starts) == 0 {
			t.Errorf("%d replicas: nothing is started: %s", replicas, r.describe())
		}
	}
}
