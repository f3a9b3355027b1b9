package backendtest

import (
	"bytes"

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
