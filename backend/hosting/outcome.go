package hosting

import "github.com/berth-cloud/berth/backend"

// announce adds a callback.
func (r *row) announce(op string, status backend.CallbackStatus, message string) {
	r.Pending = append(r.Pending, pending{
		Op: op, URL: r.CallbackURL, Payload: backend.CallbackPayload{LeaseUUID: r.Lease, Status: status, Error: message},
	})
}

// succeeded is the row of a lease whose operation is done.
func succeeded(r *row) *row {
	next := r.clone()
	for i := range next.Releases {
		switch rel := &next.Releases[i]; {
		case rel.Version == r.Op.Version:
			rel.Status, rel.Reason, rel.Message, rel.Said = backend.ReleaseStatusActive, "", "", ""
		case rel.Status == backend.ReleaseStatusActive:
			rel.Status = backend.ReleaseStatusSuperseded
		}
	}
	next.Status, next.Op, next.Was = backend.ProvisionStatusReady, nil, nil
	next.FailCount, next.Reason, next.Message, next.Said = 0, "", "", ""
	for name, one := range next.Workloads { // there is nothing to return to
		next.Workloads[name] = workload{Instance: one.Instance, Release: one.Release}
	}
	next.announce(r.Op.ID, backend.CallbackStatusSuccess, "")
	return next
}

// notUp is the row of a lease that could not be provisioned, or restored.
func notUp(r *row, w *world, f *failure) *row {
	if r.Op.Kind == opRestore {
		return restoreFailed(r, f)
	}
	return failed(r, w, f)
}

// failed is the row of a lease that could not be provisioned. What was made of it
// goes, its volumes too unless it had them before.
func failed(r *row, w *world, f *failure) *row {
	next := r.clone()
	if r.Set != "" {
		next.Spill = r.Op.ID
	}
	next.fail(f)
	next.retire()
	return next
}

// refused is the row of a lease for which the provider will not do what it needs.
// said is what it answered.
func refused(r *row, w *world, said string) *row {
	f := &failure{backend.ReasonInternal, "internal error", said}
	switch {
	case r.Status == backend.ProvisionStatusProvisioning:
		return notUp(r, w, f)
	case r.Op.Failed != nil: // going back too
		return lost(r, said)
	}
	return givenUp(r, w, f)
}

// givenUp is the row of a lease of which a change is to be taken back. The provider
// may refuse that while the change is on its way in another service, so the time for
// it begins when the change would have ended, or when the provider accepts it.
func givenUp(r *row, w *world, f *failure) *row {
	next := r.clone()
	from := next.Op.Deadline
	if from.Before(w.now) {
		from = w.now
	}
	next.Op.Failed, next.Op.BackBy = f, from.Add(w.timing.Rollback)
	return next
}

// fail ends the operation.
func (r *row) fail(f *failure) {
	if rel := r.release(r.Op.Version); rel != nil && rel.Status == backend.ReleaseStatusDeploying {
		rel.Status, rel.Reason, rel.Message, rel.Said = backend.ReleaseStatusFailed, f.Reason, f.Message, f.Said
	}
	r.Status, r.Reason, r.Message, r.Said = backend.ProvisionStatusFailed, f.Reason, f.Message, f.Said
	r.FailCount++
	r.announce(r.Op.ID, backend.CallbackStatusFailed, f.Message)
	r.Op = nil
}

// words are what a failed change is called.
func (o *operation) words() failure {
	if o.Kind == opUpdate {
		return failure{Reason: backend.ReasonUpdateFailed, Message: "update failed"}
	}
	return failure{Reason: backend.ReasonRestartFailed, Message: "restart failed"}
}

// wentBack is the row of a lease that has what it had before a change that failed.
func wentBack(r *row) *row {
	next := r.clone()
	f := r.Op.words()
	f.Message += ": " + r.Op.Failed.Message + "; rolled back to previous version"
	f.Said = r.Op.Failed.Said
	next.takeBack()
	next.fail(&f)
	// The lease serves: a holder who gives up what keeps failing must not count this.
	next.Status, next.FailCount = backend.ProvisionStatusReady, r.FailCount
	return next
}

// takeBack has the services of a lease be those before an update.
func (r *row) takeBack() {
	for name, one := range r.Workloads {
		if r.Op.Kind == opUpdate {
			r.Workloads[name] = workload{Instance: one.Instance, Release: one.Before}
		}
	}
}

// lost is the row of a lease that did not come back; said is what the provider says of
// that.
func lost(r *row, said string) *row {
	next := r.clone()
	f := r.Op.words()
	f.Message += ": " + r.Op.Failed.Message + "; rollback failed"
	f.Said = bounded(join(r.Op.Failed.Said, "going back: "+said))
	next.takeBack()
	next.fail(&f)
	return next
}
