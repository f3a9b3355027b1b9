package application

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

func withHostPath(path string) func(*spec.Service) {
	return func(s *spec.Service) {
		s.Volumes = []spec.Volume{{HostPath: path, Path: "/data", Shared: true}}
	}
}

func hostPathRig(t *testing.T) *rig {
	r := startRig(t)
	plain := r.build
	r.build = func() *Controller {
		c := plain()
		WithHostPaths(func(path string) (string, error) {
			if path == "/srv/bad" {
				return "", errors.New("its links lead to /etc")
			}
			return "/disk" + path, nil
		})(c)
		return c
	}
	return r
}

func TestAHostPathIsMountedWhereItsLinksLead(t *testing.T) {
	r := hostPathRig(t)
	r.apply(r.spec("good:1", withHostPath("/srv/good")))
	r.settle(20, time.Minute)
	all := r.engine.Containers()
	if len(all) != 1 || len(all[0].Mounts) != 1 || all[0].Mounts[0].HostPath != "/disk/srv/good" {
		t.Fatalf("containers %+v", all)
	}
}

func TestARefusedHostPathFailsTheChangeBeforeAnythingIsMade(t *testing.T) {
	r := hostPathRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	before := r.running()
	r.apply(r.spec("good:2", withHostPath("/srv/bad")))
	r.settle(20, time.Minute)
	a := r.attempt()
	if a.State != store.AttemptFailed || a.Reason != string(ReasonHostPathRefused) ||
		!strings.Contains(a.Message, "/srv/bad") || !strings.Contains(a.Message, "/etc") {
		t.Fatalf("attempt %s %s: %s", a.State, a.Reason, a.Message)
	}
	if got := r.running(); len(got) != 1 || got[0] != before[0] || len(r.engine.Containers()) != 1 {
		t.Fatalf("running %v, want %v alone: %s", got, before, r.describe())
	}
	if got := r.ready(); got.Status != reconcile.True || got.Reason != string(ReasonPreviousServing) {
		t.Fatalf("condition %+v", got)
	}
}
