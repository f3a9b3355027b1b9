package application

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

func withPublished(s *spec.Service) {
	s.Publish = []spec.PublishedPort{{Port: 8080, HostPort: 18080}}
	s.Strategy = spec.Recreate
}

func TestAPublishedPortIsHandedOver(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", withPublished))
	r.settle(20, time.Minute)
	r.apply(r.spec("good:2", withPublished))
	r.settle(30, time.Minute)
	if a := r.attempt(); a.State != store.AttemptSucceeded {
		t.Fatalf("attempt %+v", a)
	}
}

func TestAPublishedPortThatIsTakenFailsTheChangeAndTheOldOneIsStartedAgain(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", withVolume))
	r.settle(20, time.Minute)
	before := r.running()
	release := r.engine.OccupyPort(netip.MustParseAddrPort("127.0.0.1:18080"))
	defer release()
	r.apply(r.spec("good:2", withVolume, withPublished))
	r.settle(50, 2*time.Minute)
	a := r.attempt()
	if a.State != store.AttemptFailed || a.Reason != string(ReasonPortInUse) || !strings.Contains(a.Message, "18080") {
		t.Fatalf("attempt %s %s: %s", a.State, a.Reason, a.Message)
	}
	if got := r.running(); len(got) != 1 || got[0] != before[0] {
		t.Fatalf("running %v, want %v", got, before)
	}
	if got := r.ready(); got.Status != reconcile.True || got.Reason != string(ReasonPreviousServing) {
		t.Fatalf("condition %+v", got)
	}
}
