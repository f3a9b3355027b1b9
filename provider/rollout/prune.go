package rollout

import "github.com/berth-cloud/berth/id"

// prune drops the oldest releases above keepReleases that nothing refers to, and
// the oldest rollouts above keepRollouts that have ended.
func (r *record) prune(p Policy) {
	free := 0
	for i := range r.Releases {
		if !r.needed(r.Releases[i].ID) {
			free++
		}
	}
	for ; free > p.KeepReleases && r.dropOldest(); free-- {
	}
	for len(r.Rollouts) > p.KeepRollouts+1 || len(r.Rollouts) > p.KeepRollouts && r.Open.IsNil() {
		if r.Rollouts[0].ID == r.Open {
			return // open rollouts are the newest; there is nothing before it
		}
		r.Rollouts = r.Rollouts[1:]
	}
}

// dropOldest drops the oldest release that nothing refers to.
func (r *record) dropOldest() bool {
	for i := range r.Releases {
		if !r.needed(r.Releases[i].ID) {
			r.Releases = append(r.Releases[:i:i], r.Releases[i+1:]...)
			return true
		}
	}
	return false
}

// needed reports whether something refers to a release: it is what the next deploy
// adds to, which is the one that serves, or the open rollout goes to it or would
// return to it.
func (r *record) needed(release id.ID) bool {
	if base := r.base(); base != nil && base.ID == release {
		return true
	}
	open := r.open()
	return open != nil && (release == open.Release || release == open.Base)
}
