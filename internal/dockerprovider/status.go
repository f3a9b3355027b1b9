package dockerprovider

import (
	"context"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/provider"
)

// Status implements provider.Provider. It waits for nobody's pass.
func (d *Driver) Status(ctx context.Context, workload id.ID) (*provider.InstanceStatus, error) {
	w, err := d.load(ctx, workload)
	switch {
	case err != nil:
		return nil, err
	case w == nil || w.Deleting || w.Desired == nil:
		return d.unrecordedStatus(ctx, workload, w)
	}
	d.lookCloser(workload)
	world, plan, err := d.controller(ctx, w).Observe(ctx)
	if err != nil {
		return nil, failed("look at "+workload.String(), err)
	}
	if world.Desired == nil { // deprovisioned meanwhile
		return d.unrecordedStatus(ctx, workload, w)
	}
	// The record as it was when the world was gathered, or newer.
	if w, err = d.load(ctx, workload); err != nil {
		return nil, err
	}
	if w == nil || w.Deleting {
		return d.unrecordedStatus(ctx, workload, w)
	}
	v := &viewed{d: d, record: w, world: world, plan: plan}
	d.watchHealth(ctx, v)
	st := v.status()
	d.conceal(ctx, w, st)
	return st, nil
}

// conceal takes values of secrets out of what came from containers.
func (d *Driver) conceal(ctx context.Context, w *records.Workload, st *provider.InstanceStatus) {
	redact := d.redactor(w)
	st.Message = redact(ctx, st.Message)
	for name, s := range st.Services {
		s.Message = redact(ctx, s.Message)
		for i := range s.Replicas {
			s.Replicas[i].Message = redact(ctx, s.Replicas[i].Message)
		}
		st.Services[name] = s
	}
}

// viewed is a workload as one look showed it.
type viewed struct {
	d      *Driver
	record *records.Workload
	world  *application.World
	plan   application.Plan
}

func (v *viewed) status() *provider.InstanceStatus {
	st := &provider.InstanceStatus{
		Endpoints: v.endpoints(), Services: map[string]provider.ServiceStatus{}, Available: v.available(),
		Metadata: map[string]string{"network": application.NetworkName(v.d.opts.Prefix, v.record.App)},
	}
	if wanted := v.record.Wanted(); wanted != nil {
		st.TargetReleaseID = wanted.Release
	}
	if serving := v.serving(); serving != nil {
		st.ReleaseID = serving.Release
	}
	shown, replicas := v.shown()
	ready := true
	for _, m := range shown.Members() {
		s := v.service(m, replicas)
		st.Services[m.Name] = s
		st.Restarts += s.Restarts
		ready = ready && s.Ready
	}
	st.StartedAt = v.oldest()
	v.sum(st, ready)
	return st
}

// serving is the revision that serves by what the world shows.
func (v *viewed) serving() *records.Revision {
	if v.world.Active == nil {
		return nil
	}
	return v.record.StandsFor(v.world.Active.ReleaseID)
}

// shown is the spec whose services the status tells of, and how many replicas it
// shall have: of what serves, until something does of what was asked for.
func (v *viewed) shown() (spec.Service, int) {
	w := v.world
	switch {
	case w.ActiveRelease != nil && v.follows():
		return w.ActiveRelease.Spec, w.Desired.Replicas
	case w.ActiveRelease != nil:
		return w.ActiveRelease.Spec, max(w.Active.Replicas, 1)
	case w.Release != nil:
		return w.Release.Spec, w.Desired.Replicas
	}
	return w.Desired.Spec, w.Desired.Replicas
}

// follows reports whether what serves is what is desired, and so has its
// number of replicas.
func (v *viewed) follows() bool {
	rev := v.serving()
	return rev != nil && rev.Number == v.record.Goal
}

// release is the one that shown tells of; nil while the images are not known.
func (v *viewed) release() *store.Release {
	if v.world.ActiveRelease != nil {
		return v.world.ActiveRelease
	}
	return v.world.Release
}

// available reports whether a group takes traffic and can.
func (v *viewed) available() bool {
	for i := range v.world.Groups {
		if g := &v.world.Groups[i]; v.targets(g) && takes(g) {
			return true
		}
	}
	return false
}

func (v *viewed) targets(g *application.Group) bool {
	if v.world.Active == nil {
		return false
	}
	for _, t := range v.world.Active.Targets {
		if t.Container == g.Name {
			return true
		}
	}
	return false
}

// oldest is when the oldest running container started.
func (v *viewed) oldest() *time.Time {
	var at *time.Time
	for i := range v.world.Groups {
		for _, m := range v.world.Groups[i].Members {
			if runs(&m) && (at == nil || m.Started.Before(*at)) {
				started := m.Started.UTC()
				at = &started
			}
		}
	}
	return at
}
