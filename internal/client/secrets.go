package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/berth-cloud/berth/internal/wire"
)

// Secrets lists the secrets of an app, without their values.
func (c *Client) Secrets(ctx context.Context, app string) (wire.SecretList, error) {
	var out wire.SecretList
	return out, c.call(ctx, http.MethodGet, secretsPath(app), nil, nil, &out)
}

// SetSecret gives a secret of an app a value.
func (c *Client) SetSecret(ctx context.Context, app, name string, value []byte) (wire.Secret, error) {
	var out wire.Secret
	return out, c.call(ctx, http.MethodPut, secretsPath(app)+"/"+url.PathEscape(name), nil, rawBody(value), &out)
}

// DeleteSecret forgets a secret of an app. Without force, one that a service
// needs is refused.
func (c *Client) DeleteSecret(ctx context.Context, app, name string, force bool) (wire.Secret, error) {
	var out wire.Secret
	query := url.Values{}
	if force {
		query.Set("force", "true")
	}
	return out, c.call(ctx, http.MethodDelete, secretsPath(app)+"/"+url.PathEscape(name), query, nil, &out)
}

func secretsPath(app string) string { return "/v1/apps/" + url.PathEscape(app) + "/secrets" }

// rawBody is a request's body that is sent as it is.
type rawBody []byte

// encodeBody is the body of a request and its media type.
func encodeBody(in any) ([]byte, string, error) {
	if raw, ok := in.(rawBody); ok {
		return raw, "application/octet-stream", nil
	}
	data, err := json.Marshal(in)
	if err != nil {
		return nil, "", err
	}
	return data, "application/json", nil
}
