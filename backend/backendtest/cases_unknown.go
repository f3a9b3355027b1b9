package backendtest

import "github.com/berth-cloud/berth/backend"

var unknownCases = []Case{
	{Name: "Unknown/Info", run: func(e *env) {
		_, err := e.Backend.GetInfo(e.ctx, e.lease())
		e.is(err, "GetInfo", backend.ErrNotProvisioned)
	}},
	{Name: "Unknown/Provision", run: func(e *env) {
		_, err := e.Backend.GetProvision(e.ctx, e.lease())
		e.is(err, "GetProvision", backend.ErrNotProvisioned)
	}},
	{Name: "Unknown/Lookup", run: func(e *env) { e.isNowhere(e.lease()) }},
	{Name: "Unknown/Logs", Needs: []Feature{Logs}, run: func(e *env) {
		_, err := e.Backend.GetLogs(e.ctx, e.lease(), backend.DefaultLogTail)
		e.is(err, "GetLogs", backend.ErrNotProvisioned)
	}},
	{Name: "Unknown/Releases", Needs: []Feature{Releases}, run: func(e *env) {
		_, err := e.Backend.GetReleases(e.ctx, e.lease())
		e.is(err, "GetReleases", backend.ErrNotProvisioned)
	}},
	{Name: "Unknown/Restart", Needs: []Feature{Restart}, run: func(e *env) {
		id := e.lease()
		e.is(e.restart(id), "Restart", backend.ErrNotProvisioned)
		e.leftAlone(id)
	}},
	{Name: "Unknown/Update", Needs: []Feature{Update}, run: func(e *env) {
		id := e.lease()
		e.is(e.update(id, e.Manifest), "Update", backend.ErrNotProvisioned)
		e.leftAlone(id)
	}},
	{Name: "Unknown/Deprovision", run: func(e *env) {
		id := e.lease()
		e.ok(e.Backend.Deprovision(e.ctx, id), "Deprovision of a lease that nobody knows")
		e.isNowhere(id)
	}},
	{Name: "Unknown/CustomDomain", run: func(e *env) {
		id := e.lease()
		e.ok(e.Backend.ReconcileCustomDomain(e.ctx, id, e.request(id).Items), "ReconcileCustomDomain of a lease that nobody knows")
		e.leftAlone(id)
	}},
}

// leftAlone fails when a lease that nobody has made is there, or heard of.
func (e *env) leftAlone(id string) {
	e.Helper()
	e.settle()
	e.isNowhere(id)
	if got := e.Callbacks.Of(id); len(got) > 0 {
		e.Errorf("a lease that nobody made has the callbacks %+v", got)
	}
}
