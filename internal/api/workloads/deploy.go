package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/rollout"
)

// deployBounds are how a release is brought.
type deployBounds struct {
	strategy string
	rollout  *provider.RolloutSpec
	set      bool // the bounds are those of a file, which has said them all
}

func (b deployBounds) bounds() *provider.RolloutSpec {
	if b.rollout == nil && b.set {
		return &provider.RolloutSpec{}
	}
	return b.rollout
}

// deploy begins the rollout of what differs between wanted services and those of
// the release that serves.
func (s *Service) deploy(ctx context.Context, r row, have history, wanted []provider.ServiceDeploySpec, how deployBounds, with With) (wire.WorkloadChange, error) {
	out := wire.WorkloadChange{Name: r.Name, ID: r.ID.String(), Provider: r.Provider, Action: wire.WorkloadDeploy}
	if have.base == nil {
		return out, fmt.Errorf("%w: workload %s has no release; apply its file", provider.ErrNoRecord, r.Name)
	}
	if have.open != nil {
		return s.underWay(ctx, r, have, wanted, out)
	}
	changed, changes, err := s.compare(ctx, r, have.base, wanted, r.scaled(have.last))
	if err != nil {
		return out, err
	}
	out.Changes = changes
	if len(changed) == 0 {
		out.Action, out.Changes = wire.WorkloadUnchanged, nil
		if have.newest != nil && have.newest.State != rollout.StateSucceeded && have.newest.Kind != rollout.KindInitial {
			out.Notices = append(out.Notices, fmt.Sprintf("the last rollout, of v%d, did not succeed; v%d serves, and is what was asked for now", have.newest.ReleaseVersion, have.base.Version))
		}
		return out, nil
	}
	if err := s.check(ctx, r.Provider, changed, how); err != nil {
		return out, err
	}
	if with.DryRun {
		return out, nil
	}
	req := provider.DeployRequest{InstanceID: r.ID, ReleaseID: s.cfg.NewID(id.KindRelease), Services: changed, Strategy: how.strategy, Rollout: how.bounds()}
	ro, err := s.roll(ctx, r, idOf(have.newest), func(ctx context.Context) (*rollout.Result, error) {
		return s.rollouts.Deploy(ctx, req, with.rollout())
	})
	if err != nil {
		return out, err
	}
	out.Rollout = s.wireRollout(ctx, r, ro, have.base)
	return out, nil
}

// underWay answers while a rollout is open: a request for the very same joins it,
// any other is a rollout.BusyError.
func (s *Service) underWay(ctx context.Context, r row, have history, wanted []provider.ServiceDeploySpec, out wire.WorkloadChange) (wire.WorkloadChange, error) {
	busy := &rollout.BusyError{Workload: r.ID, Rollout: have.open.ID}
	coming, err := s.rollouts.Release(ctx, r.ID, have.open.Release)
	if err != nil {
		return out, err
	}
	changed, _, err := s.compare(ctx, r, coming, wanted, provider.ResourceSpec{})
	if err != nil {
		return out, err
	}
	if len(changed) > 0 || have.open.Undoing != "" || have.open.CancelWanted {
		return out, busy
	}
	out.Action = wire.WorkloadUnderWay
	out.Rollout = s.wireRollout(ctx, r, have.open, have.base)
	return out, nil
}

// scaled is what of the size was changed after the release that serves had come;
// what is zero was not.
func (r row) scaled(last *rollout.Rollout) provider.ResourceSpec {
	if last != nil && last.EndedAt != nil && !r.ScaledAt.After(*last.EndedAt) {
		return provider.ResourceSpec{}
	}
	return r.Scaled
}

// over is a size with what another says in place of its own.
func over(size, by provider.ResourceSpec) provider.ResourceSpec {
	return provider.ResourceSpec{
		CPUMillis: cmp.Or(by.CPUMillis, size.CPUMillis), MemoryMB: cmp.Or(by.MemoryMB, size.MemoryMB), DiskMB: cmp.Or(by.DiskMB, size.DiskMB),
		Replicas: cmp.Or(by.Replicas, size.Replicas), GPU: cmp.Or(by.GPU, size.GPU),
	}
}

// DeployImages brings a release with other images.
func (s *Service) DeployImages(ctx context.Context, name string, images map[string]string, strategy string, with With) (wire.WorkloadChange, error) {
	r, have, err := s.changeable(ctx, name)
	if err != nil {
		return wire.WorkloadChange{}, err
	}
	out, err := s.deployImages(ctx, r, have, images, strategy, with)
	return out, s.said(ctx, r, err)
}

func (s *Service) deployImages(ctx context.Context, r row, have history, images map[string]string, strategy string, with With) (wire.WorkloadChange, error) {
	var wanted []provider.ServiceDeploySpec
	for _, service := range slices.Sorted(maps.Keys(images)) {
		if _, ok := r.Shape.Services[service]; !ok {
			return wire.WorkloadChange{}, noService(r, service)
		}
		wanted = append(wanted, provider.ServiceDeploySpec{Name: service, Image: images[service]})
	}
	return s.deploy(ctx, r, have, wanted, deployBounds{strategy: strategy}, with)
}

// changeable is a workload that may be changed, and its history.
func (s *Service) changeable(ctx context.Context, name string) (row, history, error) {
	r, err := s.row(ctx, name)
	if err != nil {
		return r, history{}, err
	}
	if r.Removing {
		return r, history{}, s.said(ctx, r, removing(r))
	}
	have, err := s.history(ctx, r)
	return r, have, s.said(ctx, r, err)
}

// Rollback begins the return to an earlier release: "v3", "3", an id, or ""
// and "previous" for the one that served before.
func (s *Service) Rollback(ctx context.Context, name, release string, with With) (wire.WorkloadChange, error) {
	r, have, err := s.changeable(ctx, name)
	if err != nil {
		return wire.WorkloadChange{}, err
	}
	out, err := s.rollback(ctx, r, have, release, with)
	return out, s.said(ctx, r, err)
}

func (s *Service) rollback(ctx context.Context, r row, have history, release string, with With) (wire.WorkloadChange, error) {
	out := wire.WorkloadChange{Name: r.Name, ID: r.ID.String(), Provider: r.Provider, Action: wire.WorkloadRollback}
	to, err := s.findRelease(ctx, r, have, release)
	if err != nil {
		return out, err
	}
	if have.base != nil {
		if _, out.Changes, err = s.compare(ctx, r, have.base, deploys(to.Services), r.scaled(have.last)); err != nil {
			return out, err
		}
	}
	out.Notices = append(out.Notices, fmt.Sprintf("back to v%d; the file is not touched, and the next apply of it makes the workload what it says", to.Version))
	if with.DryRun {
		return out, nil
	}
	if have.open != nil && have.open.Kind == rollout.KindRollback && have.open.Release == to.ID && !have.open.CancelWanted {
		out.Action, out.Rollout = wire.WorkloadUnderWay, s.wireRollout(ctx, r, have.open, have.base)
		return out, nil
	}
	ro, err := s.roll(ctx, r, idOf(have.newest), func(ctx context.Context) (*rollout.Result, error) {
		return s.rollouts.Rollback(ctx, r.ID, to.ID, with.rollout())
	})
	if err != nil {
		return out, err
	}
	out.Rollout = s.wireRollout(ctx, r, ro, have.base)
	return out, nil
}

// findRelease finds a release by what a caller calls it.
func (s *Service) findRelease(ctx context.Context, r row, have history, name string) (*rollout.Release, error) {
	if name == "" || name == "previous" {
		return s.servedBefore(ctx, r, have)
	}
	if release, err := id.Parse(name); err == nil {
		rel, err := s.rollouts.Release(ctx, r.ID, release)
		if errors.Is(err, provider.ErrNotFound) {
			err = noRelease(r, fmt.Sprintf("workload %s has no release %s", r.Name, release))
		}
		return rel, err
	}
	version, err := strconv.ParseInt(strings.TrimPrefix(name, "v"), 10, 64)
	if err != nil || version < 1 {
		return nil, fmt.Errorf("%w: %q names no release; write v3, an id, or previous", provider.ErrInvalid, clip(name))
	}
	releases, err := s.allReleases(ctx, r)
	if err != nil {
		return nil, err
	}
	for i := range releases {
		if releases[i].Version == version {
			return &releases[i], nil
		}
	}
	return nil, noRelease(r, fmt.Sprintf("workload %s has no release v%d", r.Name, version))
}

// servedBefore is the release of the last rollout that succeeded with another
// release than the present one.
func (s *Service) servedBefore(ctx context.Context, r row, have history) (*rollout.Release, error) {
	list, _, err := s.rollouts.Rollouts(ctx, r.ID, rollout.Page{Limit: rollout.MaxPage})
	if err != nil {
		return nil, err
	}
	for _, ro := range list {
		if ro.State != rollout.StateSucceeded || have.current != nil && ro.Release == have.current.ID {
			continue
		}
		if rel, err := s.rollouts.Release(ctx, r.ID, ro.Release); err == nil {
			return rel, nil
		}
	}
	return nil, noRelease(r, fmt.Sprintf("nothing of workload %s served before the present release", r.Name))
}

// allReleases are the releases that are kept, newest first.
func (s *Service) allReleases(ctx context.Context, r row) ([]rollout.Release, error) {
	var out []rollout.Release
	page := rollout.Page{Limit: rollout.MaxPage}
	for {
		list, next, err := s.rollouts.Releases(ctx, r.ID, page)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
		if page.Cursor = next; next == "" {
			return out, nil
		}
	}
}
