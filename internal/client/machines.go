package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/berth-cloud/berth/internal/wire"
)

// machinePath is the path of a machine, or of what is below it.
func machinePath(id, below string) string {
	path := "/v1/machines/" + url.PathEscape(id)
	if below != "" {
		path += "/" + below
	}
	return path
}

// MachineGroups lists the groups of machines.
func (c *Client) MachineGroups(ctx context.Context) (wire.MachineGroupList, error) {
	var out wire.MachineGroupList
	return out, c.call(ctx, http.MethodGet, "/v1/machine-groups", nil, nil, &out)
}

// Machines lists the machines there are and, with all, those that were deleted lately.
func (c *Client) Machines(ctx context.Context, all bool) (wire.MachineList, error) {
	var out wire.MachineList
	query := url.Values{}
	if all {
		query.Set("all", "true")
	}
	return out, c.call(ctx, http.MethodGet, "/v1/machines", query, nil, &out)
}

// Machine is everything known about a machine, which is named by its id or by as much of
// its beginning as no other one has; so it is in the other calls.
func (c *Client) Machine(ctx context.Context, id string) (wire.MachineDetail, error) {
	var out wire.MachineDetail
	return out, c.call(ctx, http.MethodGet, machinePath(id, ""), nil, nil, &out)
}

// CreateMachine asks for a machine.
func (c *Client) CreateMachine(ctx context.Context, req wire.MachineCreateRequest) (wire.MachineAsked, error) {
	var out wire.MachineAsked
	return out, c.call(ctx, http.MethodPost, "/v1/machines", nil, req, &out)
}

// DeleteMachine asks for the end of a machine; with force at once, whatever it holds.
func (c *Client) DeleteMachine(ctx context.Context, id string, force bool) (wire.MachineAsked, error) {
	var out wire.MachineAsked
	query := url.Values{}
	if force {
		query.Set("force", "true")
	}
	return out, c.call(ctx, http.MethodDelete, machinePath(id, ""), query, nil, &out)
}

// RotateMachine asks for the replacement of a machine.
func (c *Client) RotateMachine(ctx context.Context, id string) (wire.MachineAsked, error) {
	var out wire.MachineAsked
	return out, c.call(ctx, http.MethodPost, machinePath(id, "rotate"), nil, nil, &out)
}

// RotateMachineGroup asks for the replacement of every machine of a group; tenant may be
// empty when one alone has a group of that name.
func (c *Client) RotateMachineGroup(ctx context.Context, tenant, group string) (wire.MachineAsked, error) {
	var out wire.MachineAsked
	query := url.Values{}
	if tenant != "" {
		query.Set("tenant", tenant)
	}
	return out, c.call(ctx, http.MethodPost, "/v1/machine-groups/"+url.PathEscape(group)+"/rotate", query, nil, &out)
}
