package dockerprovider

import (
	"context"
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// Scale implements provider.Provider. Another number of replicas changes no
// container that stays; another size rolls as a deploy does.
func (d *Driver) Scale(ctx context.Context, workload id.ID, size provider.ResourceSpec) error {
	if err := size.Validate(); err != nil {
		return err
	}
	if err := translate.RefuseSize(size); err != nil {
		return err
	}
	release, err := d.lock(ctx, workload)
	if err != nil {
		return err
	}
	defer release()
	w, err := d.mustLoad(ctx, workload)
	if err != nil {
		return err
	}
	rev, _ := course(w)
	services, resized, moved := sized(rev, size)
	if !resized && !moved {
		return d.begin(ctx, w)
	}
	if _, err := provider.ApplyDeploy(w.Kind, services, nil); err != nil {
		return err // more replicas than a volume has writers
	}
	if resized && busy(w) {
		return fmt.Errorf("%w: instance %s is on its way to release %s", provider.ErrBusy, workload, w.Wanted().Release)
	}
	w, err = d.records.Change(ctx, workload, func(w *records.Workload) error {
		if resized {
			return d.resize(w, size)
		}
		rev, pin := course(w)
		rev.Services, _, _ = sized(rev, size)
		rev.Replicas = translate.Replicas(rev.Services)
		if serving := w.Serving(); serving != nil && serving != rev {
			repeat(w.Kind, serving, rev.Replicas) // should rev not come to serve
		}
		return d.desire(w, intent{
			rev: rev, kind: store.AttemptScale, action: actionScale, pin: pin, stopped: w.Desired.Stopped,
		}, d.now())
	})
	if err != nil {
		return failed("scale", err)
	}
	return d.begin(ctx, w)
}

// resumed gives what serves the number of replicas that a Scale asked for on the way
// to a release that has failed since.
func (d *Driver) resumed(ctx context.Context, w *records.Workload) (*records.Workload, error) {
	lost := func(w *records.Workload) bool {
		serving := w.Serving()
		return serving != nil && w.Goal == w.Target && w.Desired.ReleaseID != w.Active.ReleaseID && w.RolloutFailed() &&
			!w.Desired.Stopped && w.Active.Replicas != serving.Replicas
	}
	if !lost(w) {
		return w, nil
	}
	w, err := d.records.Change(ctx, w.ID, func(w *records.Workload) error {
		if !lost(w) {
			return nil
		}
		rev, pin := course(w)
		return d.desire(w, intent{rev: rev, kind: store.AttemptScale, action: actionScale, pin: pin}, d.now())
	})
	return w, failed("scale what serves", err)
}

// resize makes a revision of another size, under the release that it changes.
func (d *Driver) resize(w *records.Workload, size provider.ResourceSpec) error {
	now := d.now()
	rev, pin := course(w)
	services, _, _ := sized(rev, size)
	target := rev.Number == w.Target
	w.LastRevision++
	w.Revisions = append(w.Revisions, records.Revision{
		Number: w.LastRevision, Release: rev.Release, Services: services, Versions: rev.Versions,
		Replicas: translate.Replicas(services), Strategy: rev.Strategy, CreatedAt: now,
	})
	if target {
		w.Target = w.LastRevision
	}
	return d.desire(w, intent{
		rev: w.Revision(w.LastRevision), kind: store.AttemptScale, action: actionUpdate, stopped: w.Desired.Stopped,
		images: w.PlannedRelease(pin), pinned: func(string) bool { return true },
	}, now)
}

// sized is the services with main in the size, and whether its limits and the
// number of groups differ by that. Zero keeps.
func sized(rev *records.Revision, size provider.ResourceSpec) (services []provider.ServiceSpec, resized, moved bool) {
	services = provider.CloneServices(rev.Services)
	i := slices.IndexFunc(services, func(s provider.ServiceSpec) bool { return s.EffectiveRole() == provider.RoleMain })
	main := &services[i].Resources
	if size.CPUMillis != 0 && size.CPUMillis != main.CPUMillis {
		main.CPUMillis, resized = size.CPUMillis, true
	}
	if size.MemoryMB != 0 && size.MemoryMB != main.MemoryMB {
		main.MemoryMB, resized = size.MemoryMB, true
	}
	if size.Replicas != 0 && size.Replicas != rev.Replicas {
		moved = true
		main.Replicas = size.Replicas
	}
	for j := range services {
		if j != i && moved {
			services[j].Resources.Replicas = 0 // it only repeated main's
		}
	}
	return services, resized, moved
}
