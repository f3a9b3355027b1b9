package backendadmin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/internal/wire"
)

// Bounds of lists.
const (
	maxNames    = 200
	lenOfLeases = 36
)

// leases is UUIDs that begin alike.
func (a *admin) leases(r *http.Request) (any, error) {
	q := r.URL.Query()
	prefix := strings.ToLower(q.Get("prefix"))
	if len(prefix) > lenOfLeases || strings.Trim(prefix, "0123456789abcdef-") != "" {
		return nil, invalid(fmt.Sprintf("%.64q begins no UUID", q.Get("prefix")), "Write the first characters of a lease's UUID.")
	}
	limit, err := limitOf(q)
	if err != nil {
		return nil, err
	}
	names, more := a.deps.Leases.Matching(prefix, limit)
	return wire.BackendLeaseNames{Leases: notNil(names), More: more}, nil
}

// limitOf is how many are asked for.
func limitOf(q url.Values) (int, error) {
	if !q.Has("limit") {
		return maxNames, nil
	}
	n, err := strconv.Atoi(q.Get("limit"))
	if err != nil || n < 1 || n > maxNames {
		return 0, invalid(fmt.Sprintf("limit is not a number from 1 to %d", maxNames), "Leave it out for the most.")
	}
	return n, nil
}

// retentions is a page of what leases left.
func (a *admin) retentions(r *http.Request) (any, error) {
	q := r.URL.Query()
	limit, err := limitOf(q)
	if err != nil {
		return nil, err
	}
	sets, more := a.deps.Leases.Retained(q.Get("continue"), limit)
	out := wire.BackendRetentionList{Retentions: []wire.BackendRetention{}}
	for _, s := range sets {
		out.Retentions = append(out.Retentions, wire.BackendRetention{
			LeaseUUID: s.Left, CreatedAt: s.LeftCreated, Tenant: s.Tenant, Items: itemsOf(s.Items), BackendVolumeSet: volumeSet(s),
		})
	}
	if more && len(sets) > 0 {
		out.Continue = sets[len(sets)-1].ID
	}
	return out, nil
}

// lease is all that is known of one.
func (a *admin) lease(r *http.Request) (any, error) {
	text := r.PathValue("lease")
	parsed, err := uuid.Parse(text)
	if err != nil || len(text) != lenOfLeases {
		return nil, invalid(fmt.Sprintf("%.64q is not the UUID of a lease", text), "`berth backend list` lists them.")
	}
	in, err := a.deps.Leases.Inspect(r.Context(), parsed.String())
	if errors.Is(err, backend.ErrNotProvisioned) {
		return nil, notFound(fmt.Sprintf("there is no lease %s", parsed), "`berth backend list` lists those there are.")
	}
	if err != nil {
		return nil, err
	}
	out := detail(in)
	if out.Callbacks, err = a.callbacks(r.Context(), in); err != nil {
		return nil, err
	}
	out.Instances = a.instances(r.Context(), parsed.String())
	return out, nil
}

func (a *admin) callbacks(ctx context.Context, in *hosting.Inspection) (wire.BackendCallbacks, error) {
	s, err := a.deps.Callbacks.Look(ctx, in.Lease.LeaseUUID)
	if err != nil {
		return wire.BackendCallbacks{}, err
	}
	return wire.BackendCallbacks{
		Target: in.CallbackOrigin, Pending: s.Pending + in.Unsent, GivenUp: s.GivenUp,
		CreatedAt: s.CreatedAt, Attempts: s.Attempts, NextTry: s.NextTry, LastError: s.Failure,
	}, nil
}

// instances is how a lease is reached; none where it is not ready, or nobody knows.
func (a *admin) instances(ctx context.Context, lease string) []wire.BackendInstance {
	info, err := a.deps.Backend.GetInfo(ctx, lease)
	if err != nil || info == nil {
		return nil
	}
	var out []wire.BackendInstance
	for _, service := range slices.Sorted(maps.Keys(info.Services)) {
		for _, one := range info.Services[service].Instances {
			ports := map[string]string{}
			for port, at := range one.Ports {
				ports[port] = net.JoinHostPort(at.HostIP, at.HostPort)
			}
			out = append(out, wire.BackendInstance{Service: service, Index: one.InstanceIndex, Name: one.FQDN, Container: one.ContainerID, Status: one.Status, Ports: ports})
		}
	}
	return out
}

func notNil[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}
