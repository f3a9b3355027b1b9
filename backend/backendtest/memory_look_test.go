package backendtest_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/berth-cloud/berth/backend"
)

// What a memory answers about what it has.

func (h *held) info() backend.ProvisionInfo {
	return backend.ProvisionInfo{
		LeaseUUID: h.req.LeaseUUID, ProviderUUID: h.req.ProviderUUID, Tenant: h.req.Tenant, Status: h.status, CreatedAt: h.created,
		FailCount: h.fails, Reason: h.reason, Message: h.message, SKU: h.req.Items[0].SKU, Quantity: h.req.TotalQuantity(), Items: slices.Clone(h.req.Items),
	}
}

func (m *memory) GetInfo(ctx context.Context, id string) (*backend.LeaseInfo, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	h, err := m.live(id)
	if err == nil && h.status != backend.ProvisionStatusReady {
		err = backend.ErrNotProvisioned
	}
	return &backend.LeaseInfo{Host: "127.0.0.1"}, err
}

func (m *memory) GetProvision(ctx context.Context, id string) (*backend.ProvisionInfo, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	h := m.leases[id]
	if h == nil {
		return nil, backend.ErrNotProvisioned
	}
	info := h.info()
	return &info, nil
}

func (m *memory) ListProvisions(ctx context.Context) ([]backend.ProvisionInfo, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	out := []backend.ProvisionInfo{}
	for _, id := range slices.Sorted(maps.Keys(m.leases)) {
		if h := m.leases[id]; !h.retained {
			out = append(out, h.info())
		}
	}
	return out, nil
}

func (m *memory) LookupProvisions(ctx context.Context, ids []string) ([]backend.ProvisionInfo, error) {
	if len(ids) > backend.MaxLookupUUIDs {
		return nil, backend.ErrValidation
	}
	all, err := m.ListProvisions(ctx)
	return slices.DeleteFunc(all, func(p backend.ProvisionInfo) bool { return !slices.Contains(ids, p.LeaseUUID) }), err
}

func (m *memory) PageProvisions(ctx context.Context, after string, limit int) ([]backend.ProvisionInfo, string, error) {
	all, err := m.ListProvisions(ctx)
	page, next := backend.PaginateProvisions(all, after, limit)
	return page, next, err
}

func (m *memory) ListRetentions(ctx context.Context) ([]backend.RetainedLease, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	out := []backend.RetainedLease{}
	for id, h := range m.leases {
		if h.retained {
			out = append(out, backend.RetainedLease{LeaseUUID: id})
		}
	}
	return out, nil
}

func (m *memory) PageRetentions(ctx context.Context, after string, limit int) ([]backend.RetainedLease, string, error) {
	all, err := m.ListRetentions(ctx)
	page, next := backend.PaginateRetentions(all, after, limit)
	return page, next, err
}

func (m *memory) GetLogs(ctx context.Context, id string, tail int) (map[string]string, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	h, err := m.live(id)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, item := range h.req.Items {
		for i := range item.Quantity {
			out[fmt.Sprint(item.ServiceName, "/", i)] = string(bytes.Repeat([]byte("line\n"), min(tail, 3)))
		}
	}
	return out, nil
}

func (m *memory) GetReleases(ctx context.Context, id string) ([]backend.ReleaseInfo, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	h, err := m.live(id)
	if err != nil {
		return nil, err
	}
	return slices.Clone(h.releases), nil
}

func (m *memory) GetLoadStats(ctx context.Context) (*backend.LoadStats, error) {
	if err := m.enter(ctx); err != nil {
		return nil, err
	}
	defer m.mu.Unlock()
	n := m.allocated()
	return &backend.LoadStats{TotalCPUCores: capacity, AllocatedCPUCores: float64(n), ActiveContainers: n}, nil
}

func (m *memory) Health(ctx context.Context) error       { return ctx.Err() }
func (m *memory) RefreshState(ctx context.Context) error { return ctx.Err() }
func (m *memory) Name() string                           { return "memory" }
