package hosting

import (
	"maps"
	"slices"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// plan is what one step does. At most one of effects and next is there: what an
// effect brought is looked at before anything is concluded from it.
type plan struct {
	effects []effect
	// next is the row as it is to be.
	next *row
	// wait is when to look again, with nothing to do until then.
	wait time.Duration
	// confirm asks for a second look before next is believed.
	confirm bool
}

// verb is what an effect does to a workload.
type verb string

const (
	doProvision   verb = "provision"
	doDeploy      verb = "deploy"
	doRestart     verb = "restart"
	doRollback    verb = "rollback"
	doDeprovision verb = "deprovision"
)

// effect is one call of the provider.
type effect struct {
	verb     verb
	service  string // "" for what is old
	instance id.ID
	release  id.ID
}

// planStep says what a lease needs. It depends on nothing but its arguments.
func planStep(r *row, w *world) plan {
	if len(r.Old) > 0 {
		return planOld(r, w)
	}
	switch r.Status {
	case backend.ProvisionStatusProvisioning:
		return planProvision(r, w)
	case backend.ProvisionStatusRestarting, backend.ProvisionStatusUpdating:
		return planReplace(r, w)
	case backend.ProvisionStatusReady:
		return planReady(r, w)
	case backend.ProvisionStatusFailing:
		return planFailing(r)
	case backend.ProvisionStatusDeprovisioning:
		return planGone(r)
	case backend.ProvisionStatusFailed, backend.ProvisionStatusUnknown, backend.ProvisionStatusRetained:
	}
	return plan{wait: w.again}
}

// planOld removes workloads that are to go, and forgets those that are confirmed to
// be gone.
func planOld(r *row, w *world) plan {
	var effects []effect
	var left []id.ID
	for _, instance := range r.Old {
		if w.status[instance] != nil {
			effects = append(effects, effect{verb: doDeprovision, instance: instance})
			left = append(left, instance)
		}
	}
	if len(left) < len(r.Old) {
		next := r.clone()
		next.Old = left
		return plan{next: next}
	}
	return plan{effects: effects, wait: w.timing.Recheck}
}

// planProvision brings the services up, each once those that it depends on are
// there.
func planProvision(r *row, w *world) plan {
	if f := firstFailure(r, w); f != nil {
		return plan{next: failed(r, w, f)}
	}
	if !w.now.Before(r.Op.Deadline) {
		return plan{next: failed(r, w, &failure{backend.ReasonInternal, "the lease was not ready in time"})}
	}
	var effects []effect
	ready := true
	for _, name := range w.stack.Order() {
		one, ok := r.Workloads[name]
		if !ok {
			continue // of which the lease has none
		}
		st := w.status[one.Instance]
		ready = ready && st != nil && st.Ready
		if st == nil && dependenciesMet(r, w, name) {
			effects = append(effects, effect{verb: doProvision, service: name, instance: one.Instance, release: one.Release})
		}
	}
	switch {
	case ready:
		return plan{next: succeeded(r)}
	case len(effects) > 0:
		return plan{effects: effects}
	}
	return plan{wait: sooner(w.timing.Recheck, w.again)}
}

// dependenciesMet reports whether a service may start.
func dependenciesMet(r *row, w *world, service string) bool {
	for _, d := range w.stack.Services[service].DependsOn {
		one, ok := r.Workloads[d.Service]
		if !ok {
			continue
		}
		st := w.status[one.Instance]
		if st == nil || d.Condition == manifest.Healthy && !st.Ready || d.Condition == manifest.Started && st.StartedAt == nil {
			return false
		}
	}
	return true
}

// planReplace restarts or updates the services, and takes all of them back when one
// fails.
func planReplace(r *row, w *world) plan {
	if r.Op.Failed != nil {
		return planBack(r, w)
	}
	var effects []effect
	ready := true
	for _, name := range slices.Sorted(maps.Keys(r.Workloads)) {
		one := r.Workloads[name]
		if !r.Op.Done[name] {
			effects = append(effects, r.Op.forward(name, one))
			continue
		}
		st := w.status[one.Instance]
		ready = ready && st != nil && st.Ready && st.TargetReleaseID == one.Release
	}
	if len(effects) > 0 {
		return plan{effects: effects}
	}
	f := firstFailure(r, w)
	if f == nil && !w.now.Before(r.Op.Deadline) {
		f = &failure{backend.ReasonInternal, "the change was not done in time"}
	}
	switch {
	case f != nil:
		next := r.clone()
		next.Op.Failed, next.Op.BackBy = f, w.now.Add(w.timing.Rollback)
		return plan{next: next}
	case ready:
		return plan{next: succeeded(r)}
	}
	return plan{wait: sooner(w.timing.Recheck, w.again)}
}

func (o *operation) forward(service string, one workload) effect {
	e := effect{verb: doRestart, service: service, instance: one.Instance, release: one.Release}
	if o.Kind == opUpdate {
		e.verb = doDeploy
	}
	return e
}

// planBack takes every service back to what it was before the operation.
func planBack(r *row, w *world) plan {
	var effects []effect
	ready := true
	for _, name := range slices.Sorted(maps.Keys(r.Workloads)) {
		one := r.Workloads[name]
		to := one.Release
		if r.Op.Kind == opUpdate {
			to = one.Before
		}
		if !r.Op.Back[name] {
			effects = append(effects, effect{verb: doRollback, service: name, instance: one.Instance, release: to})
			continue
		}
		st := w.status[one.Instance]
		ready = ready && st != nil && st.Ready && st.TargetReleaseID == to
	}
	switch {
	case len(effects) > 0:
		return plan{effects: effects}
	case ready:
		return plan{next: wentBack(r)}
	case !w.now.Before(r.Op.BackBy):
		return plan{next: lost(r)}
	}
	return plan{wait: sooner(w.timing.Recheck, w.again)}
}

// planReady watches what serves.
func planReady(r *row, w *world) plan {
	if f := firstFailure(r, w); f != nil {
		next := r.clone()
		next.Status, next.Reason, next.Message = backend.ProvisionStatusFailing, f.Reason, f.Message
		return plan{next: next, confirm: true}
	}
	return plan{wait: sooner(w.timing.Watchdog, w.again)}
}

// planFailing ends the time in which a Deprovision comes before the callback.
func planFailing(r *row) plan {
	next := r.clone()
	next.Status = backend.ProvisionStatusFailed
	next.FailCount++
	next.announce(next.Life+"/failed/"+itoa(next.FailCount), backend.CallbackStatusFailed, next.Message)
	return plan{next: next}
}

// planGone ends a lease whose workloads are gone.
func planGone(r *row) plan {
	if r.Gone {
		return plan{}
	}
	next := r.clone()
	next.Gone = true
	next.announce(next.Life+"/gone", backend.CallbackStatusDeprovisioned, "")
	return plan{next: next}
}

// firstFailure is why a workload has failed, nil while none has.
func firstFailure(r *row, w *world) *failure {
	for _, name := range slices.Sorted(maps.Keys(r.Workloads)) {
		st := w.status[r.Workloads[name].Instance]
		switch {
		case st == nil && r.Status == backend.ProvisionStatusReady:
			return &failure{backend.ReasonContainerExited, "container exited unexpectedly"}
		case st != nil && st.State == provider.StateFailed:
			f := explain(st)
			return &f
		}
	}
	return nil
}
