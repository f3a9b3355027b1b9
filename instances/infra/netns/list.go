package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

// pageToken begins the token of a page; the last instance of the one before follows.
const pageToken = "after-"

// ListInstances implements infra.Provider: by instance id, and never behind.
func (p *Provider) ListInstances(ctx context.Context, req infra.ListInstancesRequest) (*infra.ListInstancesResponse, error) {
	if err := p.owner.Check(req.Owner()); err != nil {
		return nil, err
	}
	size, err := req.PageSize()
	if err != nil {
		return nil, err
	}
	after, ok := strings.CutPrefix(req.NextToken, pageToken)
	if req.NextToken != "" && (!ok || infra.CheckInstanceID(after) != nil) {
		return nil, invalid("the page token is none of this provider's")
	}
	entries, err := os.ReadDir(p.home)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	page := &infra.ListInstancesResponse{}
	for _, e := range entries { // in the order of their names
		if e.Name() <= after || infra.CheckInstanceID(e.Name()) != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
		}
		f := p.folder(e.Name())
		r, err := f.read()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !p.owns(r, e.Name()) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("instance %s: %w", e.Name(), err)
		}
		if len(page.Instances) == size {
			page.NextToken = pageToken + page.Instances[size-1].InstanceID
			return page, nil
		}
		page.Instances = append(page.Instances, *p.seen(f, r))
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	return page, nil
}

// seen is a machine as it is now.
func (p *Provider) seen(f folder, r record) *infra.Instance {
	return &infra.Instance{
		InstanceID: r.InstanceID, ProviderInstanceID: r.ProviderID, Status: status(f, r),
		PrivateIPv4: r.machineAddr().String(), Hostname: r.InstanceID,
		LaunchedAt: r.LaunchedAt, Tags: maps.Clone(r.Tags),
	}
}

// status is what is found of a machine. What cannot be read is no fact about it.
func status(f folder, r record) infra.Status {
	if !r.DeletedAt.IsZero() {
		return infra.StatusDeleting
	}
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return infra.StatusUnknown
	}
	defer root.Close()
	_, err = root.Stat(machine.StartedFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return infra.StatusPending
	case err != nil:
		return infra.StatusUnknown
	}
	process, err := machine.ReadProcess(root)
	if err != nil {
		return infra.StatusUnknown
	}
	h, err := process.Open()
	if err != nil {
		return infra.StatusUnknown
	}
	if h == nil {
		return infra.StatusStopped
	}
	h.Close()
	state, err := machine.ReadState(root)
	if errors.Is(err, fs.ErrNotExist) {
		return infra.StatusPending
	}
	if err != nil {
		return infra.StatusUnknown
	}
	switch state.Phase {
	case machine.Booting:
		return infra.StatusPending
	case machine.Running:
		return infra.StatusRunning
	case machine.Stopping, machine.Stopped, machine.Failed:
		return infra.StatusStopping // its process is about to end
	}
	return infra.StatusUnknown
}
