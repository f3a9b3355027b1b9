package daemon

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/reconcile"
	"github.com/berth-cloud/berth/internal/reconcile/ingress"
	"github.com/berth-cloud/berth/internal/reconcile/nodes"
	"github.com/berth-cloud/berth/internal/store"
)

const kindApplication = "application"

func serviceKey(name string) reconcile.Key { return reconcile.Key{Kind: kindApplication, Name: name} }

// factory builds the controller of a key for one pass.
func (d *daemon) factory(ctx context.Context, key reconcile.Key) (reconcile.Controller, error) {
	switch key.Kind {
	case ingress.Key.Kind:
		if key != ingress.ClusterKey {
			return d.pusher.Controller(), nil
		}
		if d.cluster == nil {
			return nil, nil //nolint:nilnil // the factory's word for a key that is not there
		}
		return d.cluster.Controller(), nil
	case kindApplication:
		return d.service(ctx, key.Name)
	case nodes.Kind:
		return d.nodes.Controller(ctx, key.Name)
	case workloads.Kind:
		return d.workloads.Controller(ctx, key.Name)
	}
	return nil, fmt.Errorf("no controller is known for key %s", key)
}

// service is the controller of a desired service, or of the end of a deleted one.
func (d *daemon) service(ctx context.Context, name string) (reconcile.Controller, error) {
	desired, err := d.store.GetDesiredService(ctx, name)
	if err == nil {
		return d.located(ctx, desired)
	}
	if !errors.Is(err, store.ErrServiceNotFound) {
		return nil, err
	}
	pending, err := d.store.ListPendingTeardowns(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range pending {
		if t.Name == name {
			return d.finalizing(ctx, &t)
		}
	}
	return nil, nil
}

// keys lists everything there is to reconcile.
func (d *daemon) keys(ctx context.Context) ([]reconcile.Key, error) {
	services, err := d.store.ListDesiredServices(ctx, "")
	if err != nil {
		return nil, err
	}
	pending, err := d.store.ListPendingTeardowns(ctx)
	if err != nil {
		return nil, err
	}
	keys := []reconcile.Key{ingress.Key}
	if d.cluster != nil {
		keys = append(keys, ingress.ClusterKey)
	}
	for i := range services {
		keys = append(keys, serviceKey(services[i].Name))
	}
	for i := range pending {
		keys = append(keys, serviceKey(pending[i].Name))
	}
	there, err := d.nodes.Keys(ctx)
	if err != nil {
		return nil, err
	}
	keys = append(keys, there...)
	running, err := d.workloads.Keys(ctx)
	if err != nil {
		return nil, err
	}
	return append(keys, running...), nil
}

// watchEngine turns container events into keys.
func (d *daemon) watchEngine(ctx context.Context, ready func(), emit func(reconcile.Key)) error {
	err := d.fleet.All().Events(ctx, map[string]string{docker.LabelInstance: d.instance}, func() {
		d.engineAt.There(ctx)
		ready()
	}, func(e docker.Event) {
		name := e.Labels[docker.LabelService]
		if name == "" || e.Labels[docker.LabelWorkload] != "" {
			return // those of workloads are the provider's
		}
		d.memory.Touch(name, e.ContainerID)
		switch e.Action {
		case docker.EventDie, docker.EventOOM, docker.EventStart, docker.EventPause, docker.EventUnpause, docker.EventDestroy:
			emit(serviceKey(name))
		case docker.EventCreate: // only we create, and a pass is on it
		}
	})
	if ctx.Err() != nil || err == nil {
		return err
	}
	d.engineAt.Gone(ctx, err)
	return fmt.Errorf("%w: %w", reconcile.ErrTold, err)
}

// missedEvents looks at everything again after the event stream was down.
func (d *daemon) missedEvents() {
	d.memory.TouchAll()
	d.engine.Resync()
}

// watchStore turns commits into keys.
func (d *daemon) watchStore(ctx context.Context) error {
	return d.store.Changes(ctx, func(n store.ChangeNote) {
		for _, name := range n.Services {
			d.engine.Enqueue(serviceKey(name))
		}
		if n.Routes {
			d.engine.Enqueue(ingress.Key)
		}
		if len(n.Attempts) > 0 || n.Routes {
			// What they wait for may be there.
			for _, name := range d.memory.Waiting() {
				d.engine.Kick(serviceKey(name))
			}
		}
	})
}
