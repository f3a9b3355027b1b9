package backendtest

import "github.com/berth-cloud/berth/backend"

var loadCases = []Case{
	{Name: "Load/CountsWhatIsThere", Needs: []Feature{Load}, run: func(e *env) {
		before := e.calm()
		id := e.lease()
		req := e.request(id)
		req.Items[0].Quantity = 2
		e.provision(req)
		e.ends(id, success)
		during := e.load()
		if during.ActiveContainers != before.ActiveContainers+2 || during.AllocatedCPUCores <= before.AllocatedCPUCores || during.TotalCPUCores != before.TotalCPUCores {
			e.Errorf("with two containers more the load is %+v, before %+v", during, before)
		}
		e.deprovision(id)
		if after := e.load(); after != before {
			e.Errorf("with nothing more the load is %+v, before %+v", after, before)
		}
	}},
	{Name: "Load/RefusedTakesNothing", Needs: []Feature{Load, Validation}, run: func(e *env) {
		before := e.calm()
		req := e.request(e.lease())
		req.Payload = e.Invalid
		if err := e.Backend.Provision(e.ctx, req); err == nil {
			e.Errorf("Provision of an invalid manifest is accepted")
		}
		if after := e.load(); after != before {
			e.Errorf("after a lease that was refused the load is %+v, before %+v", after, before)
		}
	}},
}

// calm is the load once the leases of cases before, which may share the backend, are gone.
func (e *env) calm() backend.LoadStats {
	e.Helper()
	e.until(func() bool {
		for _, p := range e.list() {
			if p.Status == backend.ProvisionStatusDeprovisioning {
				return false
			}
		}
		return true
	})
	return e.load()
}

func (e *env) load() backend.LoadStats {
	e.Helper()
	load, err := e.Backend.GetLoadStats(e.ctx)
	e.ok(err, "GetLoadStats")
	if _, ok := load.CPUAllocatedRatio(); !ok {
		e.Fatalf("the load %+v has no ratio", load)
	}
	return *load
}
