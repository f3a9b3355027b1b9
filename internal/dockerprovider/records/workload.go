package records

import (
	"cmp"
	"slices"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// schema is the version of the documents; another one is not read.
const schema = 1

// Bounds of a workload's document.
const (
	// maxRevisions is how many contents a workload keeps, those in use aside.
	maxRevisions = 20
	// maxAttempts is how many attempts it keeps.
	maxAttempts = 20
	// maxServed is how much of the history of releases that served it keeps.
	maxServed = 50
)

// Workload is the document of one workload. A *Workload that Store returned is
// shared and must not be changed.
type Workload struct {
	Schema int                   `json:"schema"`
	ID     id.ID                 `json:"id"`
	Tenant string                `json:"tenant"`
	Name   string                `json:"name"`
	Kind   provider.WorkloadKind `json:"kind"`
	// App is what the planner calls the workload's network.
	App    string                `json:"app"`
	Labels map[string]string     `json:"labels,omitempty"`
	Bounds *provider.RolloutSpec `json:"rollout,omitempty"`

	// Provisioned is the request that was accepted; its zero value means that
	// none was yet, and that only what the request needs is reserved.
	Provisioned Accepted `json:"provisioned"`
	// Releases are those that were asked for, oldest first.
	Releases []Release `json:"releases"`
	// Revisions are the contents that were asked for, oldest first: one for
	// every release, and one more for every change of a release's size.
	Revisions []Revision `json:"revisions"`
	// Target is the number of the revision that is wanted, and Goal of the one
	// that Desired is made from: another one once the wanted one has failed and
	// the one that serves is looked after.
	Target int64 `json:"target"`
	Goal   int64 `json:"goal"`
	// RolloutAttempt is the attempt that decides whether Target came to serve.
	RolloutAttempt int64 `json:"rollout_attempt"`
	// Served are the releases that served, in the order in which they began to.
	Served []id.ID `json:"served,omitempty"`

	// What the planner keeps.
	Desired      *store.DesiredService `json:"desired,omitempty"`
	Attempts     []store.Attempt       `json:"attempts,omitempty"`
	Planned      []Planned             `json:"planned,omitempty"`
	Active       *store.ActiveRelease  `json:"active,omitempty"`
	LastAttempt  int64                 `json:"last_attempt"`
	LastRevision int64                 `json:"last_revision"`
	LastPlanned  int64                 `json:"last_planned"`
	LastRoute    int64                 `json:"last_route"`

	// Deleting is set once Deprovision has begun.
	Deleting  bool      `json:"deleting,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// Accepted is a request that was accepted.
type Accepted struct {
	// Fingerprint is a hash over everything in it but the contents of files.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Contents are the versions of the vault under which the contents of config
	// files were put, by service and file.
	Contents map[string]int64 `json:"contents,omitempty"`
}

// Release is a release that a caller asked for.
type Release struct {
	ID       id.ID    `json:"id"`
	Accepted Accepted `json:"accepted"`
}

// Revision is a content that was asked for.
type Revision struct {
	Number  int64 `json:"number"`
	Release id.ID `json:"release"`
	// Services are as they were asked for, with references in the place of
	// contents.
	Services []provider.ServiceSpec `json:"services"`
	// Versions are those of the secrets that Services name without one, by
	// service and key. What the vault did not have is not among them.
	Versions map[string]map[string]secrets.Version `json:"versions,omitempty"`
	Replicas int                                   `json:"replicas"`
	Strategy string                                `json:"strategy,omitempty"`
	// Planned is the planner's release that stands for it, the newest one; ""
	// until the images are known.
	Planned string `json:"planned,omitempty"`
	// Served says that it has served.
	Served    bool      `json:"served,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

// Resolved is the services with the versions of all their secrets. It shares
// nothing with the revision.
func (r *Revision) Resolved() []provider.ServiceSpec {
	out := provider.CloneServices(r.Services)
	for i := range out {
		versions := r.Versions[out[i].Name]
		for j := range out[i].Secrets {
			ref := &out[i].Secrets[j]
			ref.Version = cmp.Or(ref.Version, versions[ref.Key])
		}
		for j := range out[i].ConfigFiles {
			f := &out[i].ConfigFiles[j]
			f.Version = cmp.Or(f.Version, versions[f.Key])
		}
	}
	return out
}

// Planned is a release of the planner and the revision that it stands for.
type Planned struct {
	Revision int64         `json:"revision"`
	Release  store.Release `json:"release"`
}

// Accepts reports whether a Provision was accepted and no Deprovision has begun.
func (w *Workload) Accepts() bool { return w.Provisioned.Fingerprint != "" && !w.Deleting }

// Release finds a release by its id.
func (w *Workload) Release(release id.ID) (Release, bool) {
	i := slices.IndexFunc(w.Releases, func(r Release) bool { return r.ID == release })
	if i < 0 {
		return Release{}, false
	}
	return w.Releases[i], true
}

// Revision finds a revision by its number; nil when it is no longer kept.
func (w *Workload) Revision(number int64) *Revision {
	for i := range w.Revisions {
		if w.Revisions[i].Number == number {
			return &w.Revisions[i]
		}
	}
	return nil
}

// Wanted is the revision that was last asked for.
func (w *Workload) Wanted() *Revision { return w.Revision(w.Target) }

// Serving is the revision that serves, nil before the first one does.
func (w *Workload) Serving() *Revision {
	if w.Active == nil {
		return nil
	}
	return w.StandsFor(w.Active.ReleaseID)
}

// StandsFor finds the revision that a release of the planner stands for.
func (w *Workload) StandsFor(release string) *Revision {
	for i := range w.Planned {
		if w.Planned[i].Release.ID == release {
			return w.Revision(w.Planned[i].Revision)
		}
	}
	return nil
}

// LastServed is the revision with which a release last served, nil when it
// never did.
func (w *Workload) LastServed(release id.ID) *Revision {
	for i := range slices.Backward(w.Revisions) {
		if r := &w.Revisions[i]; r.Release == release && r.Served {
			return r
		}
	}
	return nil
}

// Has reports whether there is a revision of a release, served or not.
func (w *Workload) Has(release id.ID) bool {
	return slices.ContainsFunc(w.Revisions, func(r Revision) bool { return r.Release == release })
}

// Before is the release that last served before another one; Nil when there is
// none.
func (w *Workload) Before(release id.ID) id.ID {
	for _, served := range slices.Backward(w.Served) {
		if served != release && w.LastServed(served) != nil {
			return served
		}
	}
	return id.Nil
}

// Attempt finds an attempt, nil when it is no longer kept.
func (w *Workload) Attempt(number int64) *store.AttemptService {
	for i := range w.Attempts {
		if w.Attempts[i].ID == number && len(w.Attempts[i].Services) == 1 {
			return &w.Attempts[i].Services[0]
		}
	}
	return nil
}

// PlannedRelease finds a release of the planner, nil when it is no longer kept.
func (w *Workload) PlannedRelease(release string) *store.Release {
	for i := range w.Planned {
		if w.Planned[i].Release.ID == release {
			return &w.Planned[i].Release
		}
	}
	return nil
}

// RollingOut reports whether the wanted revision is still on its way.
func (w *Workload) RollingOut() bool {
	a := w.Attempt(w.RolloutAttempt)
	return a != nil && !a.State.Final()
}

// RolloutFailed reports whether the wanted revision did not come to serve.
func (w *Workload) RolloutFailed() bool {
	a := w.Attempt(w.RolloutAttempt)
	return a != nil && a.State == store.AttemptFailed
}

// Supersede ends every attempt that is under way.
func (w *Workload) Supersede(now time.Time) {
	for i := range w.Attempts {
		a := &w.Attempts[i]
		if a.State.Final() {
			continue
		}
		a.State, a.FinishedAt = store.AttemptSuperseded, now
		for j := range a.Services {
			if s := &a.Services[j]; !s.State.Final() {
				s.State, s.Reason, s.UpdatedAt = store.AttemptSuperseded, "Superseded", now
			}
		}
	}
}
