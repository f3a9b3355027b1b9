package hostdir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/berth-cloud/berth/instances/infra"
)

// pageToken begins the token of a page; the last instance of the one before follows.
const pageToken = "after-"

// List is a provider's ListInstances: by instance id, and never behind. One record that
// cannot be read is an error, and no shorter list.
func (m *Machines[T, P]) List(ctx context.Context, req infra.ListInstancesRequest) (*infra.ListInstancesResponse, error) {
	size, after, err := m.page(req)
	if err != nil {
		return nil, err
	}
	names, err := m.Names()
	if err != nil {
		return nil, err
	}
	page := &infra.ListInstancesResponse{}
	for _, name := range names {
		if name <= after {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
		}
		f := m.folder(name)
		r, err := m.Read(f)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !m.Owns(r, name) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("instance %s: %w", name, err)
		}
		if len(page.Instances) == size {
			page.NextToken = pageToken + page.Instances[size-1].InstanceID
			return page, nil
		}
		page.Instances = append(page.Instances, *m.maker.Seen(ctx, f, r))
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", infra.ErrUnavailable, err)
	}
	return page, nil
}

// page is what a request for a page asks for: how many, and after which instance.
func (m *Machines[T, P]) page(req infra.ListInstancesRequest) (size int, after string, err error) {
	if err := m.Owner.Check(req.Owner()); err != nil {
		return 0, "", err
	}
	if size, err = req.PageSize(); err != nil {
		return 0, "", err
	}
	after, ok := strings.CutPrefix(req.NextToken, pageToken)
	if req.NextToken != "" && (!ok || infra.CheckInstanceID(after) != nil) {
		return 0, "", fmt.Errorf("%w: the page token is none of this provider's", infra.ErrInvalidRequest)
	}
	return size, after, nil
}
