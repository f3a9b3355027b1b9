package fake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// afterToken begins a page token; the id of the last machine of the page before
// follows. Pages by place in the list would lose one when another goes.
const afterToken = "after:fake-"

// ListInstances implements infra.Provider.
func (p *Provider) ListInstances(ctx context.Context, req infra.ListInstancesRequest) (page *infra.ListInstancesResponse, err error) {
	err = p.cloud.call(ctx, "ListInstances", "", func(f Fault) error {
		if err := p.owner.Check(req.Owner()); err != nil {
			return err
		}
		size, err := req.PageSize()
		if err != nil {
			return err
		}
		if req.NextToken != "" && !strings.HasPrefix(req.NextToken, afterToken) {
			return fmt.Errorf("%w: the page token is not of this provider", infra.ErrInvalidRequest)
		}
		page = p.cloud.page(p.owner, strings.TrimPrefix(req.NextToken, "after:"), size, f)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

func (c *Cloud) page(o infra.Owner, last string, size int, f Fault) *infra.ListInstancesResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.Do == LieEmpty {
		return &infra.ListInstancesResponse{}
	}
	then := c.opts.Now().Add(-c.opts.ListLag)
	if f.Do == Lag {
		then = then.Add(-f.For)
	}
	all := c.listed(o, then, f.Do == LieForeign)
	// Provider ids are in the order of making.
	start, _ := slices.BinarySearchFunc(all, last, func(i infra.Instance, last string) int {
		if i.ProviderInstanceID <= last {
			return -1
		}
		return 1
	})
	end := min(start+size, len(all))
	page := &infra.ListInstancesResponse{Instances: slices.Clone(all[start:end])}
	if end < len(all) {
		page.NextToken = "after:" + all[end-1].ProviderInstanceID
	}
	if f.Do == ShiftPages && size > 1 {
		c.shift(page, all, start, size)
	}
	return page
}

// shift makes the page begin one machine early and come in reverse; what no
// longer fits comes on the next.
func (c *Cloud) shift(page *infra.ListInstancesResponse, all []infra.Instance, start, size int) {
	start = max(start-1, 0)
	end := min(start+size, len(all))
	page.Instances, page.NextToken = slices.Clone(all[start:end]), ""
	if end < len(all) {
		page.NextToken = "after:" + all[end-1].ProviderInstanceID
	}
	slices.Reverse(page.Instances)
}

// listed are the machines that a list of an instant shows.
func (c *Cloud) listed(o infra.Owner, then time.Time, foreign bool) []infra.Instance {
	var all []infra.Instance
	for _, m := range c.machines {
		if !foreign && !o.Owns(m.inst.Tags) || m.inst.LaunchedAt.After(then) || !m.foundBy(then, c.opts.Lingers) {
			continue
		}
		all = append(all, m.seen(then))
	}
	return all
}
