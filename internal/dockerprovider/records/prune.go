package records

import (
	"slices"

	"github.com/berth-cloud/berth/id"
)

// prune drops what is beyond the bounds: revisions that are old and not in use,
// and what belongs to them alone.
func (w *Workload) prune() {
	w.Attempts = w.Attempts[max(0, len(w.Attempts)-maxAttempts):]
	w.Served = w.Served[max(0, len(w.Served)-maxServed):]
	used := w.used()
	spare := len(w.Revisions) - maxRevisions
	w.Revisions = slices.DeleteFunc(w.Revisions, func(r Revision) bool {
		if spare <= 0 || used[r.Number] {
			return false
		}
		spare--
		return true
	})
	w.Planned = slices.DeleteFunc(w.Planned, func(p Planned) bool {
		r := w.Revision(p.Revision)
		return r == nil || r.Planned != p.Release.ID && !w.names(p.Release.ID)
	})
	w.Releases = slices.DeleteFunc(w.Releases, func(r Release) bool {
		return !slices.ContainsFunc(w.Revisions, func(v Revision) bool { return v.Release == r.ID })
	})
}

// used are the revisions that must stay.
func (w *Workload) used() map[int64]bool {
	used := map[int64]bool{w.Target: true, w.Goal: true}
	var wanted id.ID
	if r := w.Wanted(); r != nil {
		wanted = r.Release
	}
	for _, r := range []*Revision{w.Serving(), w.LastServed(wanted), w.LastServed(w.Before(wanted))} {
		if r != nil {
			used[r.Number] = true
		}
	}
	for i := range w.Planned {
		if w.names(w.Planned[i].Release.ID) {
			used[w.Planned[i].Revision] = true
		}
	}
	return used
}

// names reports whether the planner may read a release again.
func (w *Workload) names(release string) bool {
	a, d := w.Active, w.Desired
	return a != nil && (a.ReleaseID == release || a.PreviousID == release) ||
		d != nil && (d.ReleaseID == release || w.attemptNames(d.AttemptID, release))
}

func (w *Workload) attemptNames(attempt int64, release string) bool {
	a := w.Attempt(attempt)
	return a != nil && a.ReleaseID == release
}
