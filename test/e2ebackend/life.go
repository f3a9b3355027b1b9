package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/backend"
)

const (
	operationTime = 3 * time.Minute  // until the callback of an operation
	effectTime    = 20 * time.Second // until what a callback says can be seen, the backend being killed meanwhile
)

// life is one lease from its beginning to its end.
type life struct {
	*stand
	shape   shape
	lease   string
	client  *http.Client
	calls   int    // callbacks that came
	serving string // the version that answers
	names   []string
	domain  string            // the one that it has of its own
	stamps  map[string]string // what each container has in its volume, by the service and the number
	volumes []string          // those names
	of      string            // the lease that it is restored from
}

// operation is one change of a lease.
type operation struct {
	name  string
	send  func(ctx context.Context) error
	taken func(ctx context.Context) (bool, error)
	want  backend.CallbackStatus
	says  string // in the text of a callback that says failed
	// serves is the version that answers afterwards; "" is none.
	serves string
	// anew are containers of which none may be left; nil is any.
	anew func() []string
}

// run takes a lease through its life, and what it left through that of another. more says whether another restart is wanted
// before the end.
func (l *life) run(ctx context.Context, r *result, more func() bool) error {
	if err := l.serve(ctx, r, more); err != nil || !l.shape.keeps {
		return err
	}
	if err := l.retained(ctx); err != nil || !l.shape.restores {
		return err
	}
	return l.another(ctx, r)
}

// serve is the life until the lease is given up.
func (l *life) serve(ctx context.Context, r *result, more func() bool) error {
	plan := []operation{l.provision(), l.restart(), l.update("v2"), l.update("broken"), l.update("v1")}
	for i, op := range plan {
		if err := l.do(ctx, r, op); err != nil {
			return err
		}
		if i == 0 {
			if err := l.stamp(ctx); err != nil {
				return fmt.Errorf("stamp the volumes: %w", err)
			}
		}
		if i%2 == 0 { // a first one, and others in its place
			if err := l.domains(ctx, r, fmt.Sprintf("shop%d-%s.test", i, l.lease[:8])); err != nil {
				return fmt.Errorf("a custom domain: %w", err)
			}
		}
	}
	for more() {
		if err := l.do(ctx, r, l.restart()); err != nil {
			return err
		}
	}
	return l.do(ctx, r, l.deprovision())
}

// do makes one operation and judges what came of it.
func (l *life) do(ctx context.Context, r *result, op operation) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, operationTime)
	defer cancel()
	if err := change(ctx, op.send, op.taken); err != nil {
		return fmt.Errorf("%s: %w", op.name, err)
	}
	r.done(1)
	p, err := l.holder.Await(ctx, l.lease, l.calls+1)
	if err != nil {
		info, infoErr := read(ctx, func(ctx context.Context) (*backend.ProvisionInfo, error) { return l.holder.GetProvision(ctx, l.lease) })
		return fmt.Errorf("%s: %w; the lease is %+v %w", op.name, err, info, infoErr)
	}
	l.calls++
	if p.Status != op.want || !strings.Contains(p.Error, op.says) || (p.Error == "") != (op.want != backend.CallbackStatusFailed) {
		return fmt.Errorf("%s: the callback says %s %q", op.name, p.Status, p.Error)
	}
	if err := l.effect(ctx, op); err != nil {
		return fmt.Errorf("%s: %w", op.name, err)
	}
	if all := l.holder.Callbacks(l.lease); len(all) != l.calls {
		return fmt.Errorf("%s: %d callbacks for %d operations: %+v", op.name, len(all), l.calls, all)
	}
	l.o.say("%s %s: %s, %s after %.1f s", l.shape.name, l.lease[:8], op.name, p.Status, time.Since(began).Seconds())
	return nil
}

// effect waits until the lease is as it should be.
func (l *life) effect(ctx context.Context, op operation) error {
	ctx, cancel := context.WithTimeout(ctx, effectTime)
	defer cancel()
	for {
		err := l.look(ctx, op)
		if err == nil {
			l.serving = op.serves
			return nil
		}
		if !pause(ctx, 100*time.Millisecond) {
			return err
		}
	}
}

func (l *life) look(ctx context.Context, op operation) error {
	info, err := l.holder.GetInfo(ctx, l.lease)
	if op.serves == "" {
		if errors.Is(err, backend.ErrNotProvisioned) {
			return l.nameless(ctx)
		}
		return fmt.Errorf("the lease is still there: %v, %w", info, err)
	}
	if err != nil {
		return err
	}
	l.names = nil
	for name, count := range l.shape.asked {
		instances := info.Services[name].Instances
		if len(instances) != count {
			return fmt.Errorf("service %s has %d instances and should have %d: %+v", name, len(instances), count, info)
		}
		for _, one := range instances {
			if op.anew != nil && slices.Contains(op.anew(), one.ContainerID) {
				return fmt.Errorf("service %s/%d has the container that it had before", name, one.InstanceIndex)
			}
			bound, ok := one.Ports[port]
			if !ok {
				return fmt.Errorf("service %s/%d has no port: %+v", name, one.InstanceIndex, one)
			}
			v, err := version(ctx, l.client, net.JoinHostPort(bound.HostIP, bound.HostPort))
			if err != nil || v != op.serves {
				return fmt.Errorf("service %s/%d is %q and should be %q: %w", name, one.InstanceIndex, v, op.serves, err)
			}
			l.names = append(l.names, one.FQDN)
		}
	}
	if err := l.stamped(ctx, info); err != nil {
		return err
	}
	return l.named(ctx, op.serves)
}

func (l *life) provision() operation {
	return operation{
		name: "provision", want: backend.CallbackStatusSuccess, serves: "v1",
		send: func(ctx context.Context) error {
			return l.holder.Provision(ctx, backend.ProvisionRequest{
				LeaseUUID: l.lease, Tenant: "tenant-" + l.shape.name, ProviderUUID: providerUUID, Items: l.shape.items,
				CallbackURL: l.holder.CallbackURL(), Payload: l.shape.manifest(l.image("v1")),
			})
		},
		taken: func(ctx context.Context) (bool, error) {
			_, err := read(ctx, func(ctx context.Context) (*backend.ProvisionInfo, error) { return l.holder.GetProvision(ctx, l.lease) })
			if errors.Is(err, backend.ErrNotProvisioned) {
				return false, nil
			}
			return err == nil, err
		},
	}
}

// restart is taken once the containers are others, or about to be.
func (l *life) restart() operation {
	var before []string
	return operation{
		name: "restart", want: backend.CallbackStatusSuccess, serves: cmp.Or(l.serving, "v1"), anew: func() []string { return before },
		send: func(ctx context.Context) error {
			if before == nil {
				var err error
				if before, err = l.containers(ctx); err != nil {
					return err
				}
			}
			return l.holder.Restart(ctx, backend.RestartRequest{LeaseUUID: l.lease, CallbackURL: l.holder.CallbackURL()})
		},
		taken: func(ctx context.Context) (bool, error) {
			if before == nil {
				return false, nil // it was not sent
			}
			now, err := l.containers(ctx)
			if errors.Is(err, backend.ErrNotProvisioned) {
				return true, nil // it is not ready: it restarts
			}
			return !slices.Equal(before, now), err
		},
	}
}

func (l *life) containers(ctx context.Context) ([]string, error) {
	info, err := read(ctx, func(ctx context.Context) (*backend.LeaseInfo, error) { return l.holder.GetInfo(ctx, l.lease) })
	if err != nil {
		return nil, err
	}
	return containersOf(info), nil
}

// update is taken once there is another release. One to an image that does not start
// is rolled back.
func (l *life) update(to string) operation {
	releases := -1
	count := func(ctx context.Context) (int, error) {
		all, err := read(ctx, func(ctx context.Context) ([]backend.ReleaseInfo, error) { return l.holder.GetReleases(ctx, l.lease) })
		return len(all), err
	}
	op := operation{
		name: "update to " + to, want: backend.CallbackStatusSuccess, serves: to,
		send: func(ctx context.Context) (err error) {
			if releases < 0 {
				if releases, err = count(ctx); err != nil {
					return err
				}
			}
			return l.holder.Update(ctx, backend.UpdateRequest{LeaseUUID: l.lease, CallbackURL: l.holder.CallbackURL(), Payload: l.shape.manifest(l.image(to))})
		},
		taken: func(ctx context.Context) (bool, error) {
			now, err := count(ctx)
			return now > releases, err
		},
	}
	if to == "broken" {
		op.want, op.says, op.serves = backend.CallbackStatusFailed, "rolled back to previous version", "v2"
	}
	return op
}

func (l *life) deprovision() operation {
	return operation{
		name: "deprovision", want: backend.CallbackStatusDeprovisioned,
		send:  func(ctx context.Context) error { return l.holder.Deprovision(ctx, l.lease) },
		taken: func(context.Context) (bool, error) { return false, nil }, // it may be asked for again
	}
}

const providerUUID = "018f3c1e-7b2a-7c4d-9e5f-0000000000ee"
