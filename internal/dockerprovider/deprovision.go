package dockerprovider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// Deprovision implements provider.Provider. It works from labels alone where
// there is no record, and may be repeated until it succeeds; so does Step.
func (d *Driver) Deprovision(ctx context.Context, workload id.ID) error {
	release, err := d.lock(ctx, workload)
	if err != nil {
		return err
	}
	defer release()
	w, err := d.records.Load(ctx, workload)
	switch {
	case errors.Is(err, provider.ErrNotFound):
		w = nil
	case err != nil:
		return failed("deprovision", err)
	case !w.Deleting:
		if w, err = d.records.Change(ctx, workload, func(w *records.Workload) error { w.Deleting = true; return nil }); err != nil {
			return failed("deprovision", err)
		}
	}
	return d.remove(ctx, workload, w)
}

// remains is what there is of a workload.
type remains struct {
	workload   id.ID
	tenant     string
	app        string
	containers []docker.ContainerState
	volumes    []docker.Volume
}

// remove takes a workload away; w is nil without a record. Volumes and the record
// go last: they tell the next try what else there is.
func (d *Driver) remove(ctx context.Context, workload id.ID, w *records.Workload) error {
	what := "deprovision " + workload.String()
	d.forget(ctx, workload)
	r, err := d.remains(ctx, workload, w)
	if err != nil {
		return failed(what, err)
	}
	if err := d.removeContainers(ctx, r, w); err != nil {
		return failed(what, err)
	}
	if err := d.dropFiles(ctx, r.tenant, workload); err != nil {
		return failed(what, err)
	}
	if err := d.leave(ctx, workload, r.app); err != nil {
		return failed(what, err)
	}
	err = together(len(r.volumes), func(i int) error { return d.rt.RemoveVolume(ctx, r.volumes[i].Name) })
	if err != nil {
		return failed(what, err)
	}
	if err := d.records.Drop(ctx, workload); err != nil {
		return failed(what, err)
	}
	if w != nil || len(r.containers)+len(r.volumes) > 0 {
		d.gone.add(workload)
	}
	d.logs.end(workload)
	d.watches.forget(workload)
	d.leaving.forget(workload)
	d.holds.end(workload)
	return nil
}

// forget drops what passes remember of the workload: its controller does once
// nothing is desired any more.
func (d *Driver) forget(ctx context.Context, workload id.ID) {
	if _, _, err := d.controller(ctx, &records.Workload{ID: workload}).Observe(ctx); err != nil {
		d.logger.DebugContext(ctx, "forget what passes remember", "workload", workload.String(), "error", err)
	}
}

func (d *Driver) remains(ctx context.Context, workload id.ID, w *records.Workload) (remains, error) {
	r := remains{workload: workload}
	if w != nil {
		r.tenant, r.app = w.Tenant, w.App
	}
	var err error
	if r.containers, err = d.containers(ctx, workload); err != nil {
		return r, err
	}
	if r.volumes, err = d.rt.ListVolumes(ctx, d.ownerLabels(workload)); err != nil {
		return r, fmt.Errorf("list volumes: %w", err)
	}
	for i := range r.containers {
		r.note(r.containers[i].Labels)
	}
	for i := range r.volumes {
		r.note(r.volumes[i].Labels)
	}
	r.app = cmp.Or(r.app, workload.String())
	return r, nil
}

func (r *remains) note(labels map[string]string) {
	r.tenant = cmp.Or(r.tenant, labels[docker.LabelTenant])
	r.app = cmp.Or(r.app, labels[docker.LabelApp])
}

func (d *Driver) removeContainers(ctx context.Context, r remains, w *records.Workload) error {
	if err := d.stopAll(ctx, r.containers, w); err != nil {
		return err
	}
	return together(len(r.containers), func(i int) error {
		c := &r.containers[i]
		err := d.rt.Remove(ctx, c.ID)
		if docker.IsConflict(err) { // it was just being started
			if err = d.rt.Stop(ctx, c.ID, graceOf(w, c.Name, c.Labels)); err == nil {
				err = d.rt.Remove(ctx, c.ID)
			}
		}
		if err != nil {
			return err
		}
		d.rt.forget(c.Name)
		return nil
	})
}

// leave takes the workload out of its network, which goes with the last one, and
// removes shared networks that nobody has any more.
func (d *Driver) leave(ctx context.Context, workload id.ID, app string) error {
	if err := d.leaveOne(ctx, workload, app); err != nil {
		return err
	}
	nets, err := d.rt.ListNetworks(ctx, map[string]string{docker.LabelInstance: d.opts.Owner})
	if err != nil {
		return fmt.Errorf("list networks: %w", err)
	}
	for i := range nets {
		other := nets[i].Labels[docker.LabelApp]
		if other == app || !strings.HasPrefix(other, translate.SharedPrefix) || len(nets[i].Attached) > 0 {
			continue
		}
		if _, err := d.records.SubnetOf(ctx, other); !errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err := d.leaveOne(ctx, workload, other); err != nil {
			return err
		}
	}
	return nil
}

func (d *Driver) leaveOne(ctx context.Context, workload id.ID, app string) error {
	release, err := d.lockNetwork(ctx, app)
	if err != nil {
		return err
	}
	defer release()
	left, err := d.records.Leave(ctx, app, workload, d.now())
	if err != nil || left > 0 {
		return err
	}
	// Workloads whose records are lost may be there still.
	others, err := d.rt.List(ctx, map[string]string{docker.LabelInstance: d.opts.Owner, docker.LabelApp: app})
	if err != nil || len(others) > 0 {
		return err
	}
	return d.networks.Remove(ctx, app)
}
