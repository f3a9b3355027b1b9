package dockerprovider

import (
	"context"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/provider"
)

// What fetches for InspectImage are known by to the puller, beside those of
// workloads. They have no attempts.
const (
	inspectPrefix  = "image "
	inspectAttempt = 1
	maxInspections = 8 // at once
)

// InspectImage implements provider.ImageInspector. An image that is on the engine is
// not looked for in its registry, as releases do not.
func (d *Driver) InspectImage(ctx context.Context, ref string) (*provider.ImageInfo, error) {
	what := "inspect image " + ref
	if _, err := spec.ParseImage(ref); err != nil {
		return nil, fmt.Errorf("inspect image: %w: %w", provider.ErrImageUnavailable, err)
	}
	img, err := d.rt.Image(ctx, ref)
	switch {
	case err == nil:
		return &provider.ImageInfo{Digest: img.ID, Volumes: provider.ImageVolumes(img.Volumes), User: img.User}, nil
	case !docker.IsImageNotFound(err):
		return nil, failed(what, err)
	}
	service := inspectPrefix + ref
	state := d.puller.State(service, inspectAttempt, ref)
	switch {
	case state.Failure != "":
		d.puller.Forget(service)
		return nil, fmt.Errorf("%s: %w: %s", what, provider.ErrImageUnavailable, state.FailureDetail)
	case state.Pulling:
		return nil, fmt.Errorf("%s: %w: it is being fetched", what, provider.ErrPending)
	case d.puller.Running(func(service string) bool { return strings.HasPrefix(service, inspectPrefix) }) >= maxInspections:
		return nil, fmt.Errorf("%s: %w: %d others are being fetched", what, provider.ErrPending, maxInspections)
	}
	d.puller.Start(d.rt, service, inspectAttempt, ref, registryAuth(ctx, ref)(ref))
	return nil, fmt.Errorf("%s: %w: it is being fetched", what, provider.ErrPending)
}
