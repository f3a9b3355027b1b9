package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/berth-cloud/berth/internal/wire"
)

// workloadPath is the path of a workload, or of what is below it.
func workloadPath(name, below string) string {
	path := "/v1/workloads/" + url.PathEscape(name)
	if below != "" {
		path += "/" + below
	}
	return path
}

// ApplyWorkload makes a workload what its file says.
func (c *Client) ApplyWorkload(ctx context.Context, req wire.WorkloadApplyRequest) (wire.WorkloadChange, error) {
	var out wire.WorkloadChange
	return out, c.call(ctx, http.MethodPut, "/v1/workloads", nil, req, &out)
}

// DeployWorkload brings a release with other images.
func (c *Client) DeployWorkload(ctx context.Context, name string, req wire.WorkloadDeployRequest) (wire.WorkloadChange, error) {
	var out wire.WorkloadChange
	return out, c.call(ctx, http.MethodPost, workloadPath(name, "deploy"), nil, req, &out)
}

// RollBackWorkload returns to an earlier release.
func (c *Client) RollBackWorkload(ctx context.Context, name string, req wire.WorkloadRollbackRequest) (wire.WorkloadChange, error) {
	var out wire.WorkloadChange
	return out, c.call(ctx, http.MethodPost, workloadPath(name, "rollback"), nil, req, &out)
}

// CancelWorkload gives the rollout up that is under way.
func (c *Client) CancelWorkload(ctx context.Context, name string) (wire.WorkloadRollout, error) {
	var out wire.WorkloadRollout
	return out, c.call(ctx, http.MethodPost, workloadPath(name, "cancel"), nil, nil, &out)
}

// ScaleWorkload changes the size of the main service.
func (c *Client) ScaleWorkload(ctx context.Context, name string, req wire.WorkloadScaleRequest) (wire.WorkloadAccepted, error) {
	var out wire.WorkloadAccepted
	return out, c.call(ctx, http.MethodPost, workloadPath(name, "scale"), nil, req, &out)
}

// StartWorkload starts a stopped workload.
func (c *Client) StartWorkload(ctx context.Context, name string) (wire.WorkloadAccepted, error) {
	var out wire.WorkloadAccepted
	return out, c.call(ctx, http.MethodPost, workloadPath(name, "start"), nil, nil, &out)
}

// StopWorkload ends the containers of a workload.
func (c *Client) StopWorkload(ctx context.Context, name string) (wire.WorkloadAccepted, error) {
	var out wire.WorkloadAccepted
	return out, c.call(ctx, http.MethodPost, workloadPath(name, "stop"), nil, nil, &out)
}

// RestartWorkload replaces or restarts the containers of a workload.
func (c *Client) RestartWorkload(ctx context.Context, name string) (wire.WorkloadAccepted, error) {
	var out wire.WorkloadAccepted
	return out, c.call(ctx, http.MethodPost, workloadPath(name, "restart"), nil, nil, &out)
}

// DeleteWorkload removes a workload, its volumes included.
func (c *Client) DeleteWorkload(ctx context.Context, name string) (wire.WorkloadAccepted, error) {
	var out wire.WorkloadAccepted
	return out, c.call(ctx, http.MethodDelete, workloadPath(name, ""), nil, nil, &out)
}

// Workloads lists all workloads.
func (c *Client) Workloads(ctx context.Context) (wire.WorkloadList, error) {
	var out wire.WorkloadList
	return out, c.call(ctx, http.MethodGet, "/v1/workloads", nil, nil, &out)
}

// Workload is everything known about one workload.
func (c *Client) Workload(ctx context.Context, name string) (wire.WorkloadStatus, error) {
	var out wire.WorkloadStatus
	return out, c.call(ctx, http.MethodGet, workloadPath(name, ""), nil, nil, &out)
}

// WorkloadReleases is a page of the releases of a workload, newest first.
func (c *Client) WorkloadReleases(ctx context.Context, name, cursor string) (wire.WorkloadReleaseList, error) {
	var out wire.WorkloadReleaseList
	return out, c.call(ctx, http.MethodGet, workloadPath(name, "releases"), page(cursor), nil, &out)
}

// WorkloadRollouts is a page of the rollouts of a workload, newest first.
func (c *Client) WorkloadRollouts(ctx context.Context, name, cursor string) (wire.WorkloadRolloutList, error) {
	var out wire.WorkloadRolloutList
	return out, c.call(ctx, http.MethodGet, workloadPath(name, "rollouts"), page(cursor), nil, &out)
}

func page(cursor string) url.Values {
	query := url.Values{"limit": {"200"}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	return query
}

// Providers lists what workloads can run on.
func (c *Client) Providers(ctx context.Context) (wire.ProviderList, error) {
	var out wire.ProviderList
	return out, c.call(ctx, http.MethodGet, "/v1/providers", nil, nil, &out)
}

// FollowWorkload delivers the status of a workload whenever it changed, and returns
// that in which no rollout is under way. A broken stream is taken up again.
func (c *Client) FollowWorkload(ctx context.Context, name string, changed func(wire.WorkloadStatus), lost func(error)) (wire.WorkloadStatus, error) {
	var final wire.WorkloadStatus
	last := ""
	err := c.follow(ctx, workloadPath(name, "events"), nil, &last, lost, func(e event) error {
		switch e.name {
		case wire.EventWorkload:
			return decodeTo(e, changed)
		case wire.EventDone:
			if err := json.Unmarshal(e.data, &final); err != nil {
				return fmt.Errorf("read the outcome of workload %s: %w", name, err)
			}
			return errDone
		case wire.EventError:
			return problemEvent(e)
		}
		return nil
	})
	return final, err
}

// WorkloadLogs delivers lines of a service of a workload, which q names as its app, as
// Logs does. replica is -1 for all.
func (c *Client) WorkloadLogs(ctx context.Context, q wire.LogQuery, replica int, fn func(wire.LogEntry) error) error {
	query := logValues(q)
	if replica >= 0 {
		query.Set("replica", strconv.Itoa(replica))
	}
	return c.logs(ctx, workloadPath(q.App, "logs"), query, fn)
}
