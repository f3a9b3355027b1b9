package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/api/types/mount"
	moby "github.com/moby/moby/client"

	"github.com/berth-cloud/berth/backend"
)

// stamp has each container that is asked write something of its own into its volume.
func (l *life) stamp(ctx context.Context) error {
	if !l.shape.keeps {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, effectTime)
	defer cancel()
	info, err := read(ctx, func(ctx context.Context) (*backend.LeaseInfo, error) { return l.holder.GetInfo(ctx, l.lease) })
	if err != nil {
		return err
	}
	stamps := map[string]string{}
	for at, address := range l.addresses(info) {
		stamps[at] = l.lease + " " + at + " " + rand.Text()
		if _, err := l.data(ctx, http.MethodPut, address, stamps[at]); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	if l.volumes, err = l.mounted(ctx, info); err != nil {
		return err
	}
	if want := len(stamps); len(l.volumes) != want {
		return fmt.Errorf("the volumes are %v, and should be %d", l.volumes, want)
	}
	l.stamps = stamps
	return nil
}

// stamped is when each container has in its volume what was written there, and the volume
// is the one that it was written to.
func (l *life) stamped(ctx context.Context, info *backend.LeaseInfo) error {
	if l.stamps == nil {
		return nil
	}
	addresses := l.addresses(info)
	for at, want := range l.stamps {
		if got, err := l.data(ctx, http.MethodGet, addresses[at], ""); err != nil || got != want {
			return fmt.Errorf("the volume of %s has %q and should have %q: %w", at, got, want, err)
		}
	}
	now, err := l.mounted(ctx, info)
	if err != nil || !slices.Equal(now, l.volumes) {
		return fmt.Errorf("the volumes are %v and were %v: %w", now, l.volumes, err)
	}
	return nil
}

// addresses are those of the containers that are asked, by service and number.
func (l *life) addresses(info *backend.LeaseInfo) map[string]string {
	out := map[string]string{}
	for name := range l.shape.asked {
		for _, one := range info.Services[name].Instances {
			bound := one.Ports[port]
			out[fmt.Sprintf("%s/%d", name, one.InstanceIndex)] = net.JoinHostPort(bound.HostIP, bound.HostPort)
		}
	}
	return out
}

// mounted are the volumes of the containers that are asked.
func (l *life) mounted(ctx context.Context, info *backend.LeaseInfo) ([]string, error) {
	var out []string
	for name := range l.shape.asked {
		for _, one := range info.Services[name].Instances {
			c, err := l.engine.ContainerInspect(ctx, one.ContainerID, moby.ContainerInspectOptions{})
			if err != nil {
				return nil, err
			}
			for _, m := range c.Container.Mounts {
				if m.Type == mount.TypeVolume && m.Destination == dataDir {
					out = append(out, m.Name)
				}
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// data reads or writes the file of the stamp.
func (l *life) data(ctx context.Context, method, address, content string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+address+"/data/stamp", strings.NewReader(content))
	if err != nil {
		return "", err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s of %s answers %s: %s", method, req.URL, resp.Status, body)
	}
	return string(body), err
}

// retained is when the backend lists what the lease left, and the volumes are there.
func (l *life) retained(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, effectTime)
	defer cancel()
	all, err := read(ctx, l.holder.ListRetentions)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(all, func(one backend.RetainedLease) bool { return one.LeaseUUID == l.lease }) {
		return fmt.Errorf("it is not among the %d leases that left something", len(all))
	}
	for _, name := range l.volumes {
		if _, err := l.engine.VolumeInspect(ctx, name, moby.VolumeInspectOptions{}); err != nil {
			return fmt.Errorf("what it left is not there: %w", err)
		}
	}
	return nil
}

// another takes a second lease, to which what the first one left is restored, to its end.
// Nobody gets it a second time.
func (l *life) another(ctx context.Context, r *result) error {
	next := &life{
		stand: l.stand, shape: l.shape, lease: uuid.NewString(), client: l.client, of: l.lease,
		stamps: maps.Clone(l.stamps), volumes: slices.Clone(l.volumes),
	}
	if err := next.do(ctx, r, next.restore()); err != nil {
		return err
	}
	if err := l.restoredOnce(ctx); err != nil {
		return err
	}
	if err := next.do(ctx, r, next.restart()); err != nil {
		return fmt.Errorf("restored: %w", err)
	}
	if err := next.do(ctx, r, next.deprovision()); err != nil {
		return fmt.Errorf("restored: %w", err)
	}
	return next.retained(ctx)
}

func (l *life) restore() operation {
	op := l.provision()
	op.name = "restore"
	op.send = func(ctx context.Context) error { return l.holder.Restore(ctx, l.request(l.of)) }
	return op
}

func (l *life) request(of string) backend.RestoreRequest {
	return backend.RestoreRequest{
		LeaseUUID: l.lease, FromLeaseUUID: of, Tenant: "tenant-" + l.shape.name, ProviderUUID: providerUUID,
		Items: l.shape.items, CallbackURL: l.holder.CallbackURL(),
	}
}

// restoredOnce is when what the lease left is nobody's to have any more.
func (l *life) restoredOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, effectTime)
	defer cancel()
	third := &life{stand: l.stand, shape: l.shape, lease: uuid.NewString()}
	_, err := read(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, l.holder.Restore(ctx, third.request(l.lease))
	})
	switch {
	case err == nil:
		return errTwice
	case !errors.Is(err, backend.ErrNotRetained) && !errors.Is(err, backend.ErrInvalidState):
		return fmt.Errorf("a second restore: %w", err)
	}
	return nil
}

var errTwice = errors.New("what it left was restored twice")
