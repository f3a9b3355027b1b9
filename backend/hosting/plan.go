package hosting

import (
	"maps"
	"slices"
	"strconv"
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
	doRollback    verb = "rollback" // after a change that failed
	doReturn      verb = "return"   // to what was there before such a one, instead of a restart
	doDeprovision verb = "deprovision"

	doOwn      verb = "own"       // record the volumes that are to be made
	doSpill    verb = "spill"     // remove those of an operation that failed
	doKeep     verb = "keep"      // have nothing to go back to after a restore
	doGiveBack verb = "give back" // after a restore that failed
	doGiveUp   verb = "give up"   // retain the volumes, or begin to remove them
	doEmpty    verb = "empty"     // remove them
)

// changesWorkload reports whether it is a call by which the provider changes what runs.
func (v verb) changesWorkload() bool {
	switch v {
	case doProvision, doDeploy, doRestart, doRollback, doReturn:
		return true
	}
	return false
}

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
	switch {
	case r.Spill != "":
		return planSpill(r, w)
	case w.set.heldBy(r.Lease) && w.set.claimed() && r.served() != nil:
		return plan{effects: []effect{{verb: doKeep}}}
	}
	switch r.Status {
	case backend.ProvisionStatusProvisioning:
		if r.Op.Failed != nil {
			return planRestoreBack(r, w)
		}
		return planProvision(r, w)
	case backend.ProvisionStatusRestarting, backend.ProvisionStatusUpdating:
		return planReplace(r, w)
	case backend.ProvisionStatusReady:
		return planReady(r, w)
	case backend.ProvisionStatusFailing:
		return planFailing(r)
	case backend.ProvisionStatusDeprovisioning:
		return planGone(r, w)
	case backend.ProvisionStatusFailed, backend.ProvisionStatusUnknown, backend.ProvisionStatusRetained:
	}
	return plan{wait: w.again}
}

// planOld removes workloads that are to go. Each is forgotten when the provider has
// said that it removed it, and does not find it: that it does not find it is not
// enough.
func planOld(r *row, w *world) plan {
	if r.Status == backend.ProvisionStatusProvisioning && r.Op.Failed == nil && !w.now.Before(r.Op.Deadline) {
		return plan{next: failed(r, w, late(r, w, "the lease was not ready"))}
	}
	effects := make([]effect, len(r.Old))
	for i, instance := range r.Old {
		effects[i] = effect{verb: doDeprovision, instance: instance}
	}
	return plan{effects: effects}
}

// planSpill removes the volumes that an operation made which failed.
func planSpill(r *row, w *world) plan {
	if w.set.heldBy(r.Lease) && w.set.spills(r.Spill) {
		return plan{effects: []effect{{verb: doSpill}}}
	}
	next := r.clone()
	next.Spill = ""
	return plan{next: next}
}

// planProvision brings the services up, each once those that it depends on are
// there.
func planProvision(r *row, w *world) plan {
	if p, f := planImages(r, w); f != nil {
		return plan{next: notUp(r, w, f)}
	} else if p != nil {
		return *p
	}
	var effects []effect
	ready := true
	for _, name := range order(r, w) {
		one := r.Workloads[name]
		st := w.status[one.Instance]
		ready = ready && st != nil && st.Ready
		if st == nil && dependenciesMet(r, w, name) {
			effects = append(effects, effect{verb: doProvision, service: name, instance: one.Instance, release: one.Release})
		}
	}
	if ready {
		return plan{next: succeeded(r)}
	}
	f := firstFailure(r, w)
	if f == nil && !w.now.Before(r.Op.Deadline) {
		f = late(r, w, "the lease was not ready")
	}
	switch {
	case f != nil:
		return plan{next: notUp(r, w, f)}
	case len(effects) > 0:
		return plan{effects: effects}
	}
	return plan{wait: sooner(w.timing.Recheck, w.again)}
}

// order is the services of which the lease has any, each after those that it depends
// on.
func order(r *row, w *world) []string {
	if len(r.Workloads) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.stack.Order()), func(name string) bool {
		_, any := r.Workloads[name]
		return !any
	})
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
	if p, f := planImages(r, w); f != nil {
		return plan{next: givenUp(r, w, f)}
	} else if p != nil {
		return *p
	}
	if r.Op.Kind == opRestart && r.Op.From == nil && len(r.Workloads) > 0 {
		return planOrigins(r, w)
	}
	var effects []effect
	ready := true
	for _, name := range slices.Sorted(maps.Keys(r.Workloads)) {
		one := r.Workloads[name]
		st := w.status[one.Instance]
		if verb := r.Op.forward(name, one, st); verb != "" {
			effects = append(effects, effect{verb: verb, service: name, instance: one.Instance, release: one.Release})
			continue
		}
		ready = ready && st != nil && st.Ready && st.TargetReleaseID == one.Release && (r.Op.Kind != opRestart || r.Op.restarted(name, st))
	}
	if ready && len(effects) == 0 {
		return plan{next: succeeded(r)}
	}
	f := firstFailure(r, w)
	switch {
	case !w.now.Before(r.Op.Deadline):
		return plan{next: givenUp(r, w, late(r, w, "it was not done"))}
	case len(effects) > 0: // what failed before is what they change
		return plan{effects: effects}
	case f != nil:
		return plan{next: givenUp(r, w, f)}
	}
	return plan{wait: sooner(w.timing.Recheck, w.again)}
}

// forward is what the provider is to be told next to bring a service to where the
// operation wants it; "" is nothing more.
func (o *operation) forward(service string, one workload, st *provider.InstanceStatus) verb {
	switch {
	case o.Kind == opUpdate && !o.Done[service]:
		return doDeploy
	case o.Kind == opUpdate:
	case o.From[service].Return:
		if !o.Done[service] && astray(st, one) {
			return doReturn
		}
	case o.wantsRestart(service, st):
		return doRestart
	}
	return ""
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
	case ready && len(effects) == 0:
		return plan{next: wentBack(r)}
	case !w.now.Before(r.Op.BackBy):
		return plan{next: lost(r, late(r, w, "").Said)}
	case len(effects) > 0:
		return plan{effects: effects}
	}
	return plan{wait: sooner(w.timing.Recheck, w.again)}
}

// planReady watches what serves.
func planReady(r *row, w *world) plan {
	if f := firstFailure(r, w); f != nil {
		next := r.clone()
		next.Status, next.Reason, next.Message, next.Said = backend.ProvisionStatusFailing, f.Reason, f.Message, f.Said
		next.Deaths++
		return plan{next: next, confirm: true}
	}
	return plan{wait: sooner(w.timing.Watchdog, w.again)}
}

// planFailing ends the time in which a Deprovision comes before the callback.
func planFailing(r *row) plan {
	next := r.clone()
	next.Status = backend.ProvisionStatusFailed
	next.FailCount++
	next.announce(next.Life+"/failed/"+strconv.Itoa(next.Deaths), backend.CallbackStatusFailed, next.Message)
	return plan{next: next}
}

// planGone ends a lease whose workloads are gone: its volumes go one way or the other,
// and then it is told.
func planGone(r *row, w *world) plan {
	s := w.set
	switch {
	case s.heldBy(r.Lease):
		return plan{effects: []effect{{verb: doGiveUp}}}
	case s.leftBy(r.Lease) && s.State == setReaping && s.Attempts >= maxAttempts:
		return plan{next: gone(r, backend.CallbackPayload{Status: backend.CallbackStatusFailed, Error: "volume cleanup exhausted"})}
	case s.leftBy(r.Lease) && s.State == setReaping:
		if wait := attemptWait(w.timing.Recheck, s.Attempts) - since(s.TriedAt, w.now); s.Attempts > 0 && wait > 0 {
			return plan{wait: wait}
		}
		return plan{effects: []effect{{verb: doEmpty}}}
	}
	return plan{next: gone(r, backend.CallbackPayload{Status: backend.CallbackStatusDeprovisioned, Retained: s.leftBy(r.Lease)})}
}

func gone(r *row, last backend.CallbackPayload) *row {
	next := r.clone()
	next.Gone = true
	last.LeaseUUID = r.Lease
	next.Pending = append(next.Pending, pending{Op: next.Life + "/gone", URL: r.CallbackURL, Payload: last})
	return next
}
