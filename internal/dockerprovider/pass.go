package dockerprovider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/provider"
)

// lock waits for the workload: its changes happen one after the other.
func (d *Driver) lock(ctx context.Context, workload id.ID) (release func(), err error) {
	return d.locks.Lock(ctx, "workload "+workload.String())
}

// lockNetwork waits for the network: workloads do not join it while the last one
// removes it.
func (d *Driver) lockNetwork(ctx context.Context, app string) (release func(), err error) {
	return d.locks.Lock(ctx, "network "+app)
}

// load reads a workload that was provisioned; nil when there is no record.
func (d *Driver) load(ctx context.Context, workload id.ID) (*records.Workload, error) {
	w, err := d.records.Load(ctx, workload)
	switch {
	case errors.Is(err, provider.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, failed("read", err)
	case w.Provisioned.Fingerprint == "" && !w.Deleting:
		return nil, nil // a Provision that was never accepted
	}
	return w, nil
}

// mustLoad is load for what cannot do without a record.
func (d *Driver) mustLoad(ctx context.Context, workload id.ID) (*records.Workload, error) {
	w, err := d.load(ctx, workload)
	switch {
	case err != nil:
		return nil, err
	case w == nil:
		list, err := d.containers(ctx, workload)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			return nil, noRecord(workload)
		}
		return nil, notFound(workload)
	case w.Deleting:
		return nil, fmt.Errorf("%w: instance %s is being deprovisioned", provider.ErrConflict, workload)
	}
	return w, nil
}

// controller is the planner's controller of a workload.
func (d *Driver) controller(ctx context.Context, w *records.Workload) *application.Controller {
	opts := []application.Option{
		application.WithInstanceID(d.opts.Owner), application.WithNetworkPrefix(d.opts.Prefix),
		application.WithMemory(d.memory), application.WithPuller(d.puller), application.WithNetworks(d.networks),
		application.WithClock(d.now), application.WithProber(d.opts.Prober), application.WithLogger(d.logger),
		application.WithSecrets(tenantVault{d.opts.Vault, w.Tenant}), application.WithLabels(d.labels(w)),
		application.WithKeptVolumes(func(volume string) docker.VolumeSpec { return d.keptVolume(w.Tenant, volume) }),
		application.WithRegistryAuth(registryAuth(ctx, mainImage(w))),
		application.WithIngressView(func() application.IngressView {
			view, _ := d.leaving.view(w.ID, d.now())
			return view
		}),
	}
	if w.Bounds != nil && w.Bounds.StableWindow > 0 {
		opts = append(opts, application.WithStartupWatch(w.Bounds.StableWindow))
	}
	view := d.records.View(w.ID, d.redactor(w), d.logger)
	return application.New(w.ID.String(), view, marking{d.rt, d, w.ID}, opts...)
}

// labels are on every container and volume of a workload.
func (d *Driver) labels(w *records.Workload) map[string]string {
	out := map[string]string{}
	maps.Copy(out, w.Labels)
	out[docker.LabelWorkload], out[docker.LabelTenant] = w.ID.String(), w.Tenant
	return out
}

func mainImage(w *records.Workload) string {
	rev := w.Revision(w.Goal)
	if rev == nil {
		return ""
	}
	main, _ := translate.Main(rev.Services)
	return main.Image
}

// again is what a pass answers that did something: the next one stands on it.
const again = time.Millisecond

// firstPasses is how many passes a call makes: one that knows the image makes
// the release, the next one the containers.
const firstPasses = 3

// begin makes the first passes of a change. What an effect failed with shows in
// the status, and the next Step goes on; only what every pass needs fails the
// call.
func (d *Driver) begin(ctx context.Context, w *records.Workload) error {
	for range firstPasses {
		requeue, _, err := d.pass(ctx, w)
		switch {
		case err != nil && (lasting(err) || ctx.Err() != nil):
			return failed("first pass of "+w.ID.String(), err)
		case err != nil:
			d.logger.WarnContext(ctx, "the first pass of a change did not get through", "workload", w.ID.String(), "error", err)
			return nil
		case requeue != again:
			return nil
		}
	}
	return nil
}

// pullCheck is how soon a Step is due while images are fetched: nobody else may
// notice that one has arrived.
const pullCheck = 500 * time.Millisecond

// pass makes one pass of the planner.
func (d *Driver) pass(ctx context.Context, w *records.Workload) (time.Duration, reconcile.Condition, error) {
	w, err := d.load(ctx, w.ID)
	if err != nil || w == nil || w.Desired == nil || hopeless(w) {
		return 0, reconcile.Condition{}, err
	}
	if w, err = d.resumed(ctx, w); err != nil {
		return 0, reconcile.Condition{}, err
	}
	if !d.hub.Watched() {
		// No event tells that a container ended and was started by its engine.
		d.lookCloser(w.ID)
	}
	res, err := d.controller(ctx, w).Reconcile(ctx)
	var condition reconcile.Condition
	if len(res.Conditions) > 0 {
		condition = res.Conditions[0]
	}
	if errors.Is(err, application.ErrHeld) || errors.Is(err, application.ErrVolumeInUse) {
		return holdCheck, condition, nil // the status tells of it
	}
	if err != nil {
		return 0, condition, err
	}
	requeue := res.RequeueAfter
	switch application.Reason(condition.Reason) {
	case application.ReasonPullingImage, application.ReasonResolvingImage:
		requeue = sooner(requeue, pullCheck)
	}
	if w, err = d.records.Known(ctx, w.ID); err != nil {
		return 0, condition, err
	}
	d.leaving.note(w.ID, w.Active, d.now())
	_, next := d.leaving.view(w.ID, d.now())
	return sooner(requeue, next), condition, nil
}

// lookCloser makes the next look at a workload inspect every container: a
// listing does not show that one was started again in between. What was never
// looked at is inspected anyway.
func (d *Driver) lookCloser(workload id.ID) { d.memory.TouchService(workload.String()) }

// sooner is the shorter of two waits, of which zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Step implements provider.Stepper.
func (d *Driver) Step(ctx context.Context, workload id.ID) (time.Duration, error) {
	release, err := d.lock(ctx, workload)
	if err != nil {
		return 0, err
	}
	defer release()
	w, err := d.load(ctx, workload)
	switch {
	case err != nil:
		return 0, err
	case w == nil && d.gone.has(workload):
		return 0, nil
	case w == nil:
		list, err := d.containers(ctx, workload)
		if err != nil || len(list) > 0 {
			return 0, err // without a record there is nothing to pursue
		}
		return 0, notFound(workload)
	case w.Deleting:
		return 0, d.remove(ctx, workload, w)
	}
	requeue, _, err := d.pass(ctx, w)
	if err != nil {
		return 0, failed("step "+workload.String(), err)
	}
	next, err := d.stepHealth(ctx, w)
	return sooner(requeue, next), failed("step "+workload.String(), err)
}

// stepHealth makes the health checks that are due, where services that serve
// declare any.
func (d *Driver) stepHealth(ctx context.Context, w *records.Workload) (time.Duration, error) {
	w, err := d.records.Known(ctx, w.ID)
	if err != nil || w.Active == nil || len(w.Active.Targets) == 0 || !checks(w) {
		return 0, err
	}
	if next, quiet := d.watches.quiet(w.ID, w.Active.Version, d.now()); quiet {
		return next, nil
	}
	world, plan, err := d.controller(ctx, w).Observe(ctx)
	if err != nil || world.Desired == nil {
		return 0, err
	}
	return d.watchHealth(ctx, &viewed{d: d, record: w, world: world, plan: plan}), nil
}

// checks reports whether a service that serves declares a health check.
func checks(w *records.Workload) bool {
	rev := w.Serving()
	return rev != nil && slices.ContainsFunc(rev.Services, func(s provider.ServiceSpec) bool { return translate.Declared(s) != nil })
}
