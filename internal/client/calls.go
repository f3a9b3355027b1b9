package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/berth-cloud/berth/internal/wire"
)

// Apply plans a change of an app and, unless it is a dry run, starts it.
func (c *Client) Apply(ctx context.Context, req wire.ApplyRequest) (wire.ChangeResult, error) {
	var out wire.ChangeResult
	return out, c.call(ctx, http.MethodPost, "/v1/apply", nil, req, &out)
}

// Apps lists all apps.
func (c *Client) Apps(ctx context.Context) (wire.AppList, error) {
	var out wire.AppList
	return out, c.call(ctx, http.MethodGet, "/v1/apps", nil, nil, &out)
}

// App is everything known about one app.
func (c *Client) App(ctx context.Context, app string) (wire.AppStatus, error) {
	var out wire.AppStatus
	return out, c.call(ctx, http.MethodGet, "/v1/apps/"+url.PathEscape(app), nil, nil, &out)
}

// Containers lists the containers of an app, or of all apps for "".
func (c *Client) Containers(ctx context.Context, app string) (wire.ContainerList, error) {
	var out wire.ContainerList
	path := "/v1/containers"
	if app != "" {
		path = "/v1/apps/" + url.PathEscape(app) + "/containers"
	}
	return out, c.call(ctx, http.MethodGet, path, nil, nil, &out)
}

// Releases is the history of a service, newest first.
func (c *Client) Releases(ctx context.Context, app, service string) (wire.ReleaseList, error) {
	var out wire.ReleaseList
	path := "/v1/apps/" + url.PathEscape(app) + "/services/" + url.PathEscape(service) + "/releases"
	return out, c.call(ctx, http.MethodGet, path, nil, nil, &out)
}

// Rollback plans that a service run an earlier release and, unless it is a
// dry run, starts it.
func (c *Client) Rollback(ctx context.Context, app string, req wire.RollbackRequest) (wire.ChangeResult, error) {
	var out wire.ChangeResult
	return out, c.call(ctx, http.MethodPost, "/v1/apps/"+url.PathEscape(app)+"/rollback", nil, req, &out)
}

// Restart plans that containers of services be replaced and, unless it is a dry
// run, starts it.
func (c *Client) Restart(ctx context.Context, app string, req wire.RestartRequest) (wire.ChangeResult, error) {
	var out wire.ChangeResult
	return out, c.call(ctx, http.MethodPost, "/v1/apps/"+url.PathEscape(app)+"/restart", nil, req, &out)
}

// Scale plans other numbers of replicas and, unless it is a dry run, starts it.
func (c *Client) Scale(ctx context.Context, app string, req wire.ScaleRequest) (wire.ChangeResult, error) {
	var out wire.ChangeResult
	return out, c.call(ctx, http.MethodPost, "/v1/apps/"+url.PathEscape(app)+"/scale", nil, req, &out)
}

// DeleteOptions are the choices of a Delete.
type DeleteOptions struct {
	DryRun      bool
	AllowRemove bool // without it, an app with services is refused
}

// Delete plans the removal of an app and, unless it is a dry run, starts it.
func (c *Client) Delete(ctx context.Context, app string, o DeleteOptions) (wire.ChangeResult, error) {
	var out wire.ChangeResult
	query := url.Values{}
	if o.AllowRemove {
		query.Set("allow_remove", "true")
	}
	if o.DryRun {
		query.Set("dry_run", "true")
	}
	return out, c.call(ctx, http.MethodDelete, "/v1/apps/"+url.PathEscape(app), query, nil, &out)
}

// Attempt is one attempt as it is now.
func (c *Client) Attempt(ctx context.Context, id int64) (wire.Attempt, error) {
	var out wire.Attempt
	return out, c.call(ctx, http.MethodGet, "/v1/attempts/"+strconv.FormatInt(id, 10), nil, nil, &out)
}

// Status is the state of the whole daemon.
func (c *Client) Status(ctx context.Context) (wire.Status, error) {
	var out wire.Status
	return out, c.call(ctx, http.MethodGet, "/v1/status", nil, nil, &out)
}

// Version names the daemon.
func (c *Client) Version(ctx context.Context) (wire.Version, error) {
	var out wire.Version
	return out, c.call(ctx, http.MethodGet, "/v1/version", nil, nil, &out)
}

// Doctor runs the daemon's checks of itself and of the machine.
func (c *Client) Doctor(ctx context.Context) (wire.Doctor, error) {
	var out wire.Doctor
	return out, c.call(ctx, http.MethodGet, "/v1/doctor", nil, nil, &out)
}
