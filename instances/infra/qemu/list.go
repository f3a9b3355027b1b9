package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/berth-cloud/berth/instances/infra"
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
		page.Instances = append(page.Instances, *p.seen(ctx, f, r))
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	return page, nil
}
