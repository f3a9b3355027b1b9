package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/berth-cloud/berth/internal/wire"
)

// DefaultBackendSocket is where a backend listens for its operator unless it was told
// otherwise.
const DefaultBackendSocket = "/var/lib/berth-backend/backend.sock"

const (
	backendPage = 500      // leases of one answer
	adminPage   = 200      // and of one of the operator's own
	maxLogs     = 64 << 20 // bytes read of an answer with logs
)

// Backend asks one backend over the Unix socket of its operator. It is safe for
// concurrent use.
type Backend struct{ c *Client }

// NewBackend makes one for the socket. It does not connect yet.
func NewBackend(socket string) *Backend {
	c := New(socket)
	c.refused = backendRefusal
	return &Backend{c}
}

// Close drops idle connections.
func (b *Backend) Close() { b.c.Close() }

// Status is the backend as a whole.
func (b *Backend) Status(ctx context.Context) (wire.BackendStatus, error) {
	var out wire.BackendStatus
	return out, b.c.call(ctx, http.MethodGet, "/admin/status", nil, nil, &out)
}

// LeaseNames is the UUIDs that begin with a prefix, at most limit of them.
func (b *Backend) LeaseNames(ctx context.Context, prefix string, limit int) (wire.BackendLeaseNames, error) {
	var out wire.BackendLeaseNames
	query := url.Values{"prefix": {prefix}, "limit": {strconv.Itoa(limit)}}
	return out, b.c.call(ctx, http.MethodGet, "/admin/leases", query, nil, &out)
}

// Lease is all that is known of one lease.
func (b *Backend) Lease(ctx context.Context, lease string) (wire.BackendLeaseDetail, error) {
	var out wire.BackendLeaseDetail
	return out, b.c.call(ctx, http.MethodGet, "/admin/leases/"+url.PathEscape(lease), nil, nil, &out)
}

// IsServer reports whether it is `berthd server` that listens on the socket.
func (b *Backend) IsServer(ctx context.Context) bool {
	var v wire.Version
	return b.c.call(ctx, http.MethodGet, "/v1/version", nil, nil, &v) == nil && v.Version != ""
}

// Drain has the backend take no new lease, or take them again.
func (b *Backend) Drain(ctx context.Context, on bool) (wire.BackendDrain, error) {
	var out wire.BackendDrain
	return out, b.c.call(ctx, http.MethodPost, "/admin/drain", nil, wire.BackendDrainRequest{On: &on}, &out)
}

// Leases is every lease, or an error.
func (b *Backend) Leases(ctx context.Context) ([]wire.BackendLease, error) {
	return pages(ctx, b, "/provisions", backendPage, func(p leasePage) ([]wire.BackendLease, string) { return p.Provisions, p.Continue })
}

// Retentions is all that leases left of their data, or an error.
func (b *Backend) Retentions(ctx context.Context) ([]wire.BackendRetention, error) {
	return pages(ctx, b, "/admin/retentions", adminPage, func(p wire.BackendRetentionList) ([]wire.BackendRetention, string) {
		return p.Retentions, p.Continue
	})
}

// leasePage is a page of leases.
type leasePage struct {
	Provisions []wire.BackendLease `json:"provisions"`
	Continue   string              `json:"continue"`
}

// pages reads a list to its end.
func pages[P, T any](ctx context.Context, b *Backend, path string, limit int, of func(P) (rows []T, next string)) ([]T, error) {
	all := []T{}
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	for after := ""; ; {
		var page P
		if err := b.c.call(ctx, http.MethodGet, path, query, nil, &page); err != nil {
			return nil, err
		}
		rows, next := of(page)
		all = append(all, rows...)
		if next == "" {
			return all, nil
		}
		if next <= after {
			return nil, fmt.Errorf("read the list of %s: after %q it goes on with %q", path, after, next)
		}
		after = next
		query.Set("continue", after)
	}
}

// Logs is the last tail lines of each container of a lease.
func (b *Backend) Logs(ctx context.Context, lease string, tail int) (wire.BackendLogs, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := b.c.send(ctx, http.MethodGet, "/logs/"+url.PathEscape(lease), url.Values{"tail": {strconv.Itoa(tail)}}, nil, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLogs+1))
	if err != nil {
		return nil, b.c.unreachable(ctx, err)
	}
	if len(body) > maxLogs {
		return nil, fmt.Errorf("the logs of lease %s are more than %d MiB: ask for fewer lines", lease, maxLogs>>20)
	}
	var out wire.BackendLogs
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("read the logs of lease %s: %w", lease, err)
	}
	return out, nil
}

// backendRefusal makes a problem of a refusal in either form: the operator's routes
// answer with one, those of the backend protocol with an envelope of their own. No
// backend refuses without either, unless it met a fault of its own.
func backendRefusal(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	p := &wire.Problem{}
	if err == nil && json.Unmarshal(body, p) == nil && p.Type != "" {
		p.Status = resp.StatusCode
		return p
	}
	var said struct {
		Error string `json:"error"`
	}
	if err = errors.Join(err, json.Unmarshal(body, &said)); err != nil || said.Error == "" {
		if resp.StatusCode < http.StatusInternalServerError {
			return fmt.Errorf("%w, and answers %s", ErrStranger, resp.Status)
		}
		said.Error = fmt.Sprintf("the backend answered %s without saying why", resp.Status)
	}
	p = &wire.Problem{Type: wire.ProblemInternal, Title: "Refused", Status: resp.StatusCode, Detail: said.Error}
	switch resp.StatusCode {
	case http.StatusNotFound:
		p.Type, p.Hint = wire.ProblemNotFound, "`berth backend list` lists the leases there are."
	case http.StatusBadRequest:
		p.Type = wire.ProblemInvalidRequest
	case http.StatusForbidden:
		p.Type = wire.ProblemForbidden
	case http.StatusServiceUnavailable:
		p.Type = wire.ProblemBusy
	}
	return p
}
