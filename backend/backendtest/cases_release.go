package backendtest

import (
	"bytes"
	"strings"

	"github.com/berth-cloud/berth/backend"
)

var releaseCases = []Case{
	{Name: "Releases/Versions", Needs: []Feature{Releases, Update}, run: func(e *env) {
		id := e.ready()
		e.active(id, e.Manifest)
		e.ok(e.update(id, e.Other), "Update")
		e.ends(id, success, success)
		all := e.active(id, e.Other)
		if first := all[0]; !bytes.Equal(first.Manifest, e.Manifest) || first.Status != backend.ReleaseStatusSuperseded {
			e.Errorf("after an update the first release is %s with %q", first.Status, first.Manifest)
		}
	}},
	{Name: "Releases/BrokenUpdate", Needs: []Feature{Releases, Update}, run: func(e *env) {
		if e.Broken == nil {
			e.Skipf("the fixture has no broken manifest")
		}
		id := e.ready()
		e.ok(e.update(id, e.Broken), "Update")
		e.ends(id, success, failed)
		all := e.active(id, e.Manifest)
		last := all[len(all)-1]
		if last.Status != backend.ReleaseStatusFailed || !bytes.Equal(last.Manifest, e.Broken) || last.Reason == "" || last.Message == "" {
			e.Errorf("after a broken update the last release is %+v", last)
		}
	}},
	{Name: "Releases/RefusedLeavesNone", Needs: []Feature{Releases, Update, Validation}, run: func(e *env) {
		id := e.ready()
		before := len(e.active(id, e.Manifest))
		if err := e.update(id, e.Invalid); err == nil {
			e.Errorf("Update to an invalid manifest is accepted")
		}
		if after := e.active(id, e.Manifest); len(after) != before {
			e.Errorf("an update that was refused left %+v", after[len(after)-1])
		}
	}},
	{Name: "Releases/RefusedRestartLeavesNone", Needs: []Feature{Releases, Restart}, run: func(e *env) {
		id := e.ready()
		e.oneEndForEachOf(id, e.restart)
		for _, r := range e.active(id, e.Manifest) {
			if r.Status == backend.ReleaseStatusDeploying {
				e.Errorf("when all is done release %d is %s", r.Version, r.Status)
			}
		}
	}},
}

// active are the releases of a lease, of which one is active and has this manifest.
func (e *env) active(id string, manifest []byte) []backend.ReleaseInfo {
	e.Helper()
	all, err := e.Backend.GetReleases(e.ctx, id)
	e.ok(err, "GetReleases")
	version, active := 0, 0
	for _, r := range all {
		if r.Version <= version || r.CreatedAt.IsZero() {
			e.Errorf("release %d, of %s, comes after release %d", r.Version, r.CreatedAt, version)
		}
		version = r.Version
		if r.Status == backend.ReleaseStatusActive {
			active++
			if !bytes.Equal(r.Manifest, manifest) {
				e.Errorf("release %d is active with %q, want %q", r.Version, r.Manifest, manifest)
			}
		}
	}
	if active != 1 || all[0].Version != 1 {
		e.Fatalf("of the releases %+v, %d are active, want one of 1 and on", all, active)
	}
	return all
}

var logCases = []Case{
	{Name: "Logs/ByContainer", Needs: []Feature{Logs}, run: func(e *env) {
		id := e.lease()
		req := e.request(id)
		req.Items[0].Quantity = 2
		e.provision(req)
		e.ends(id, success)
		var logs map[string]string
		e.until(func() bool {
			var err error
			logs, err = e.Backend.GetLogs(e.ctx, id, backend.DefaultLogTail)
			e.ok(err, "GetLogs")
			return logs["app/0"] != "" && logs["app/1"] != ""
		})
		if logs["app/0"] == "" || logs["app/1"] == "" || len(logs) != 2 {
			e.Errorf("the logs are %q, want some of app/0 and app/1", logs)
		}
	}},
	{Name: "Logs/Tail", Needs: []Feature{Logs}, run: func(e *env) {
		id := e.ready()
		var one string
		e.until(func() bool {
			logs, err := e.Backend.GetLogs(e.ctx, id, 1)
			e.ok(err, "GetLogs")
			one = logs["app/0"]
			return one != ""
		})
		if one == "" || strings.Count(strings.TrimSuffix(one, "\n"), "\n") > 0 {
			e.Errorf("the last line is %q", one)
		}
	}},
}

var loadCases = []Case{
	{Name: "Load/CountsWhatIsThere", Needs: []Feature{Load}, run: func(e *env) {
		before := e.load()
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
		before := e.load()
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

func (e *env) load() backend.LoadStats {
	e.Helper()
	load, err := e.Backend.GetLoadStats(e.ctx)
	e.ok(err, "GetLoadStats")
	if _, ok := load.CPUAllocatedRatio(); !ok {
		e.Fatalf("the load %+v has no ratio", load)
	}
	return *load
}

var domainCases = []Case{
	{Name: "CustomDomain/SetAndRemoved", Needs: []Feature{CustomDomains}, run: func(e *env) {
		id := e.ready()
		for _, domain := range []string{e.Domain, ""} {
			items := e.request(id).Items
			items[0].CustomDomain = domain
			e.ok(e.Backend.ReconcileCustomDomain(e.ctx, id, items), "ReconcileCustomDomain")
			is := func() bool { got := e.get(id).Items; return len(got) == 1 && got[0].CustomDomain == domain }
			if !e.until(is) {
				e.Errorf("the items of the lease are %+v, want the custom domain %q", e.get(id).Items, domain)
			}
		}
		e.until(func() bool { return e.get(id).Status == backend.ProvisionStatusReady })
		e.serves(id)
	}},
	{Name: "CustomDomain/Unchanged", Needs: []Feature{CustomDomains}, run: func(e *env) {
		id := e.ready()
		e.ok(e.Backend.ReconcileCustomDomain(e.ctx, id, e.request(id).Items), "ReconcileCustomDomain")
		e.ends(id, success)
		e.serves(id)
	}},
	{Name: "CustomDomain/NotActive", Needs: []Feature{CustomDomains}, run: func(e *env) {
		id := e.ready()
		e.broken(id)
		before := e.ended(id)
		items := e.request(id).Items
		items[0].CustomDomain = e.Domain
		e.ok(e.Backend.ReconcileCustomDomain(e.ctx, id, items), "ReconcileCustomDomain of a lease that failed")
		e.ends(id, before...)
		e.status(id, backend.ProvisionStatusFailed)
	}},
}
