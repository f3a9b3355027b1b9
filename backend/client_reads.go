package backend

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ofLease asks an endpoint about one lease.
func ofLease[T any](ctx context.Context, c *HTTPClient, e *endpoint[T], leaseUUID, query string) (T, error) {
	if err := checkLease(leaseUUID); err != nil {
		var none T
		return none, c.fail(e.operation, err)
	}
	return call(ctx, c, e, request{lease: leaseUUID, query: query})
}

// GetInfo tells how a lease that is ready is reached. Any other is
// ErrNotProvisioned.
func (c *HTTPClient) GetInfo(ctx context.Context, leaseUUID string) (*LeaseInfo, error) {
	return ofLease(ctx, c, &endpointInfo, leaseUUID, "")
}

// GetProvision is one lease, or ErrNotProvisioned.
func (c *HTTPClient) GetProvision(ctx context.Context, leaseUUID string) (*ProvisionInfo, error) {
	info, err := ofLease(ctx, c, &endpointProvisionInfo, leaseUUID, "")
	if err != nil {
		return nil, err
	}
	info.BackendName = c.cfg.Name
	return info, nil
}

// GetLogs is the last tail lines of each container, by "service/index". A tail of 0
// or less is DefaultLogTail, one above MaxLogTail is MaxLogTail. A lease that is not
// known is ErrNotProvisioned.
func (c *HTTPClient) GetLogs(ctx context.Context, leaseUUID string, tail int) (map[string]string, error) {
	if tail <= 0 {
		tail = DefaultLogTail
	}
	query := "tail=" + strconv.Itoa(min(tail, MaxLogTail))
	logs, err := ofLease(ctx, c, &endpointLogs, leaseUUID, query)
	if logs == nil && err == nil {
		logs = map[string]string{}
	}
	return logs, err
}

// GetReleases is what was deployed of a lease, oldest first. A lease that is not
// known is ErrNotProvisioned.
func (c *HTTPClient) GetReleases(ctx context.Context, leaseUUID string) ([]ReleaseInfo, error) {
	releases, err := ofLease(ctx, c, &endpointReleases, leaseUUID, "")
	if releases == nil && err == nil {
		releases = []ReleaseInfo{}
	}
	return releases, err
}

// GetLoadStats is how much of the capacity is allocated. It is nil from a backend
// that does not count.
func (c *HTTPClient) GetLoadStats(ctx context.Context) (*LoadStats, error) {
	return call(ctx, c, &endpointStats, request{})
}

// Health is nil while the backend answers that it can do its work. It is not signed,
// and asked whatever the breaker thinks.
func (c *HTTPClient) Health(ctx context.Context) error {
	_, err := call(ctx, c, &endpointHealth, request{})
	return err
}

// ListProvisions is every lease that the backend has, or an error. The slice is not
// nil then.
func (c *HTTPClient) ListProvisions(ctx context.Context) ([]ProvisionInfo, error) {
	all, err := allPages(ctx, c, &endpointList, func(page ListProvisionsResponse) ([]ProvisionInfo, string) {
		return page.Provisions, page.Continue
	})
	return c.named(all), err
}

// ListRetentions is every lease whose data is retained, or an error. The slice is
// not nil then.
func (c *HTTPClient) ListRetentions(ctx context.Context) ([]RetainedLease, error) {
	return allPages(ctx, c, &endpointRetentions, func(page ListRetentionsResponse) ([]RetainedLease, string) {
		return page.Retentions, page.Continue
	})
}

// LookupProvisions is those of 1 to MaxLookupUUIDs leases that the backend has, in
// one request. Another number of leases is ErrValidation.
func (c *HTTPClient) LookupProvisions(ctx context.Context, uuids []string) ([]ProvisionInfo, error) {
	operation := endpointLookup.operation
	if len(uuids) == 0 || len(uuids) > MaxLookupUUIDs {
		return nil, c.fail(operation, fmt.Errorf("%w: %d leases, and a lookup has 1 to %d", ErrValidation, len(uuids), MaxLookupUUIDs))
	}
	asked := make(map[string]bool, len(uuids))
	for _, id := range uuids {
		if err := checkLease(id); err != nil {
			return nil, c.fail(operation, err)
		}
		asked[strings.ToLower(id)] = true
	}
	sorted := slices.Compact(slices.Sorted(slices.Values(uuids))) // one URL for one set
	page, err := call(ctx, c, &endpointLookup, request{query: url.Values{"lease_uuid": sorted}.Encode()})
	switch {
	case errors.Is(err, ErrNotProvisioned):
		return []ProvisionInfo{}, nil
	case err != nil:
		return nil, err
	}
	// A backend that knows no lookups answers with all that it has.
	found := slices.DeleteFunc(page.Provisions, func(p ProvisionInfo) bool { return !asked[strings.ToLower(p.LeaseUUID)] })
	return c.named(found), nil
}

// named says of leases whose they are.
func (c *HTTPClient) named(list []ProvisionInfo) []ProvisionInfo {
	for i := range list {
		list[i].BackendName = c.cfg.Name
	}
	return list
}
