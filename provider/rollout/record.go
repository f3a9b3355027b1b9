package rollout

import (
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// record is everything about one workload. It is one value in the store, so that
// a version, a release and the rollout that brings it appear together or not at
// all.
type record struct {
	Format   int    `json:"format"`
	Workload id.ID  `json:"workload"`
	Provider string `json:"provider"`

	// Provision is the request that the workload was made with: the shape of the
	// group, which no release changes.
	Provision provider.ProvisionRequest `json:"provision"`

	NextVersion int64 `json:"next_version"`
	NextNumber  int64 `json:"next_number"`

	// Current is the release whose rollout last succeeded.
	Current id.ID `json:"current,omitzero"`

	// Open is the rollout that is under way.
	Open id.ID `json:"open,omitzero"`

	// Scaled is the size that the main service was given since Current.
	Scaled *provider.ResourceSpec `json:"scaled,omitempty"`

	// Removing means that the workload is to go. Nothing else happens to it.
	Removing bool `json:"removing,omitempty"`

	Releases []Release `json:"releases"` // by version
	Rollouts []Rollout `json:"rollouts"` // by number
}

func (r *record) release(release id.ID) *Release {
	i := slices.IndexFunc(r.Releases, func(x Release) bool { return x.ID == release })
	if release.IsNil() || i < 0 {
		return nil
	}
	return &r.Releases[i]
}

func (r *record) releaseByHash(hash string) *Release {
	if i := slices.IndexFunc(r.Releases, func(x Release) bool { return x.Hash == hash }); i >= 0 {
		return &r.Releases[i]
	}
	return nil
}

func (r *record) rollout(rollout id.ID) *Rollout {
	i := slices.IndexFunc(r.Rollouts, func(x Rollout) bool { return x.ID == rollout })
	if rollout.IsNil() || i < 0 {
		return nil
	}
	return &r.Rollouts[i]
}

func (r *record) open() *Rollout { return r.rollout(r.Open) }

// requested is the newest rollout that was asked for under a release's id.
func (r *record) requested(release id.ID) *Rollout {
	for i := range slices.Backward(r.Rollouts) {
		if req := r.Rollouts[i].Request; req != nil && req.ReleaseID == release {
			return &r.Rollouts[i]
		}
	}
	return nil
}

// base is the release that a partial deploy adds to: the last that succeeded, and
// before any has the first one, because there is nothing else to know the services
// from.
func (r *record) base() *Release {
	if current := r.release(r.Current); current != nil {
		return current
	}
	return r.release(r.Provision.ReleaseID)
}

// idle reports why nothing new may begin.
func (r *record) idle() error {
	switch {
	case r.Removing:
		return fmt.Errorf("%w: workload %s is being removed", provider.ErrConflict, r.Workload)
	case !r.Open.IsNil():
		return &BusyError{Workload: r.Workload, Rollout: r.Open}
	default:
		return nil
	}
}

// addRelease allocates the next version. It counts only once the record is
// written, which succeeds for one writer.
func (r *record) addRelease(rel Release) *Release {
	rel.Workload, rel.Version, rel.Ref = r.Workload, r.NextVersion, rel.ID
	r.NextVersion++
	r.Releases = append(r.Releases, rel)
	return &r.Releases[len(r.Releases)-1]
}

// addRollout allocates the next number.
func (r *record) addRollout(ro Rollout) *Rollout {
	ro.Workload, ro.Number = r.Workload, r.NextNumber
	r.NextNumber++
	r.Rollouts = append(r.Rollouts, ro)
	return &r.Rollouts[len(r.Rollouts)-1]
}

// specs are the services of a release as the provider knows them.
func (r *record) specs(rel *Release) []provider.ServiceSpec {
	out := make([]provider.ServiceSpec, 0, len(rel.Services))
	for _, s := range rel.Services {
		frame := provider.ServiceSpec{Name: s.Name}
		for _, p := range r.Provision.Services {
			if p.Name == s.Name {
				frame.Role, frame.DependsOn = p.Role, p.DependsOn
			}
		}
		out = append(out, s.DeploySpec().Apply(frame))
	}
	return out
}

// main is the name of the main service.
func (r *record) main() string {
	for _, s := range r.Provision.Services {
		if s.EffectiveRole() == provider.RoleMain {
			return s.Name
		}
	}
	return ""
}
