package application

import (
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

func TestAFirstDeployComesThroughOnceWhatItLackedIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		apply func(*rig)
		bring func(*rig)
	}{
		"a secret": {
			apply: func(r *rig) { r.vault = rigSecrets{"shop/config": {"x"}}; r.apply(r.spec("good:1", withSecrets)) },
			bring: func(r *rig) { r.vault["shop/TOKEN"] = []string{"hunter2"} },
		},
		"an image": {
			apply: func(r *rig) { r.apply(r.spec("late:1")) },
			bring: func(r *rig) { r.engine.AddImage("late:1", docker.Image{}, images["good:1"]) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRig(t)
			c.apply(r)
			r.settle(20, time.Minute)
			if got := r.attempt(); !got.State.Final() {
				t.Fatalf("attempt %+v", got)
			}
			c.bring(r)
			r.memory = NewMemory(nil) // as after a restart, which tries at once
			if acted := r.settle(20, 10*time.Minute); acted == 0 {
				t.Error("nothing was done")
			}
			if got := r.ready(); got.Reason != string(ReasonDeployed) || len(r.running()) != 1 {
				t.Errorf("condition %+v; %s; error %v", got, r.describe(), r.lastErr)
			}
		})
	}
}
