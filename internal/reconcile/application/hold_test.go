package application

import (
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/store"
)

func TestNothingIsChangedWhileAServiceIsHeldForMaintenance(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1"))
	r.settle(20, time.Minute)
	before := r.running()
	r.putDesired(func(d *store.DesiredService) { d.MaintenanceHold, d.Image, d.Spec.Image = true, "good:2", "good:2" })
	effects := r.effects()
	r.passFor(10 * time.Second)
	if c := r.ready(); c.Reason != ReasonMaintenanceHold || c.Status != reconcile.Unknown {
		t.Errorf("condition %+v", c)
	}
	if n := r.effects(); n != effects || r.attempt().State.Final() {
		t.Errorf("%d effects while it is held, attempt %+v", n-effects, r.attempt())
	}
	r.putDesired(func(d *store.DesiredService) { d.MaintenanceHold = false })
	r.settle(40, time.Minute)
	if c := r.ready(); c.Reason != string(ReasonDeployed) || strings.Join(r.running(), " ") == strings.Join(before, " ") {
		t.Errorf("condition %+v; running %v, before %v", c, r.running(), before)
	}
}

func TestASuspendedServiceHasNoContainersAndThatIsNoFault(t *testing.T) {
	r := startRig(t)
	r.apply(r.spec("good:1", asGroup("side:1"), withReplicas(2)))
	r.settle(40, time.Minute)
	r.putDesired(func(d *store.DesiredService) { d.Suspended = true })
	r.settle(40, time.Minute)
	if c := r.ready(); c.Reason != string(ReasonSuspended) || c.Status != reconcile.Unknown || len(r.engine.Containers()) != 0 {
		t.Errorf("condition %+v; %s", c, r.describe())
	}
	if a := r.attempt(); a.State != store.AttemptSucceeded {
		t.Errorf("attempt %+v", a)
	}
	r.putDesired(func(d *store.DesiredService) { d.Suspended = false })
	r.settle(40, time.Minute)
	if c := r.ready(); c.Reason != string(ReasonDeployed) || len(r.running()) != 4 {
		t.Errorf("condition %+v; running %v", c, r.running())
	}
}
