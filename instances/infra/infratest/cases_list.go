package infratest

import (
	"context"
	"errors"

	"github.com/berth-cloud/berth/instances/infra"
)

var listCases = []Case{
	{Name: "List/Shows", run: listShows},
	{Name: "List/Pages", needs: needsManyIDs, run: listPages},
	{Name: "List/ShiftingPages", needs: needsManyIDs, run: listShiftingPages},
	{Name: "List/Refuses", run: listRefuses},
	{Name: "List/AfterRestart", needs: needsReopen, run: listAfterRestart},
}

// listShows: the list, which may lag, comes to show what was made, as it is.
func listShows(e *env) {
	req := e.request()
	made := e.create(req)
	e.eventually("the machine is listed", func() bool {
		for _, inst := range e.list(0, nil) {
			if inst.InstanceID != req.InstanceID {
				continue
			}
			if inst.ProviderInstanceID != made.ProviderInstanceID || !inst.OwnedBy(e.fx.Owner) {
				e.Errorf("the list has %+v for %+v", inst, made)
			}
			return true
		}
		return false
	})
}

// many makes machines and waits until every list shows them.
func (e *env) many(n int) []string {
	e.Helper()
	var ids []string
	for range n {
		req := e.request()
		e.create(req)
		ids = append(ids, req.InstanceID)
	}
	e.eventually("all are listed", func() bool { return has(e.list(0, nil), ids...) })
	for range e.fx.Settle {
		e.advance()
	}
	return ids
}

func listPages(e *env) {
	ids := e.many(7)
	for _, size := range []int{1, 2, 3, 7, 8} {
		if !has(e.list(size, nil), ids...) {
			e.Errorf("pages of %d do not show all machines", size)
		}
	}
}

// listShiftingPages removes and makes machines between the pages. All that are
// there all the time are listed all the same.
func listShiftingPages(e *env) {
	ids := e.many(8)
	stay := ids[2:]
	list := e.list(2, func(page int) {
		switch page {
		case 1:
			e.removed(ids[0])
		case 2:
			e.removed(ids[1])
			e.create(e.request())
		}
	})
	if !has(list, stay...) {
		e.Errorf("the list lost machines that were there from its first page to its last")
	}
}

func listRefuses(e *env) {
	own := infra.ListInstancesRequest{ClusterID: e.fx.Owner.ClusterID, Shard: e.fx.Owner.Shard}
	for what, spoil := range map[string]func(*infra.ListInstancesRequest){
		"a token of nobody":  func(r *infra.ListInstancesRequest) { r.NextToken = "\x00nobody's" },
		"less than a page":   func(r *infra.ListInstancesRequest) { r.Limit = -1 },
		"no owner":           func(r *infra.ListInstancesRequest) { r.ClusterID = "" },
		"another's machines": func(r *infra.ListInstancesRequest) { r.Shard = "another" },
	} {
		req := own
		spoil(&req)
		err := e.again("list", func(ctx context.Context) error {
			_, err := e.p.ListInstances(ctx, req)
			return err
		})
		if !errors.Is(err, infra.ErrInvalidRequest) {
			e.Errorf("list with %s: %v, not ErrInvalidRequest", what, err)
		}
	}
}

func listAfterRestart(e *env) {
	req := e.request()
	e.create(req)
	e.p = e.fx.Reopen()
	e.eventually("the machine is listed by a process that started later", func() bool {
		return has(e.list(0, nil), req.InstanceID)
	})
}
