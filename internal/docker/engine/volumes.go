package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// EnsureVolume implements docker.Runtime. One call does both: the engine
// answers the creation of a volume that exists with that volume.
func (c *Client) EnsureVolume(ctx context.Context, spec docker.VolumeSpec) error {
	what := "create volume " + spec.Name
	if spec.Name == "" {
		return fmt.Errorf("create volume: %w: it needs a name", docker.ErrInvalid)
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return c.fail(what, err)
	}
	res, err := c.cli.VolumeCreate(ctx, client.VolumeCreateOptions{Name: spec.Name, Driver: "local", Labels: spec.Labels})
	if err != nil {
		return c.fail(what, err)
	}
	if otherLabel(res.Volume.Labels, spec.Labels) == "" {
		return nil
	}
	// An engine that was restarted answers a creation with a volume's name alone,
	// until it has been asked for the volume itself.
	seen, err := c.cli.VolumeInspect(ctx, spec.Name, client.VolumeInspectOptions{})
	if err != nil {
		return c.fail(what, err)
	}
	if key := otherLabel(seen.Volume.Labels, spec.Labels); key != "" {
		return fmt.Errorf("%s: %w: a volume of that name exists with %s=%q, wanted %q", what, docker.ErrConflict, key, seen.Volume.Labels[key], spec.Labels[key])
	}
	return nil
}

// otherLabel is the first wanted label that is missing or says something else,
// or "".
func otherLabel(have, want map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got, ok := have[key]; !ok || got != want[key] {
			return key
		}
	}
	return ""
}

// ListVolumes implements docker.Runtime.
func (c *Client) ListVolumes(ctx context.Context, labels map[string]string) ([]docker.Volume, error) {
	const what = "list volumes"
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return nil, c.fail(what, err)
	}
	res, err := c.cli.VolumeList(ctx, client.VolumeListOptions{Filters: labelFilter(labels)})
	if err != nil {
		return nil, c.fail(what, err)
	}
	out := make([]docker.Volume, len(res.Items))
	for i, v := range res.Items {
		out[i] = docker.Volume{Name: v.Name, Labels: v.Labels, Created: parseTime(v.CreatedAt)}
	}
	return out, nil
}

// RemoveVolume implements docker.Runtime.
func (c *Client) RemoveVolume(ctx context.Context, name string) error {
	what := "remove volume " + name
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return c.fail(what, err)
	}
	_, err := c.cli.VolumeRemove(ctx, name, client.VolumeRemoveOptions{})
	if err == nil {
		return nil
	}
	if err = c.fail(what, err); errors.Is(err, docker.ErrNotFound) {
		return nil
	}
	return err
}

// VolumeSizes implements docker.Runtime. It lasts as long as its context allows.
func (c *Client) VolumeSizes(ctx context.Context) (map[string]int64, error) {
	const what = "measure volumes"
	if err := c.negotiate(ctx); err != nil {
		return nil, c.fail(what, err)
	}
	res, err := c.cli.DiskUsage(ctx, client.DiskUsageOptions{Volumes: true, Verbose: true})
	if err != nil {
		return nil, c.failSlow(what, err)
	}
	out := map[string]int64{}
	for i := range res.Volumes.Items {
		v := &res.Volumes.Items[i]
		if v.UsageData != nil && v.UsageData.Size >= 0 {
			out[v.Name] = v.UsageData.Size
		}
	}
	return out, nil
}
