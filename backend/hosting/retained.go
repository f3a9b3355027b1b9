package hosting

import (
	"context"
	"maps"
	"slices"

	"github.com/berth-cloud/berth/backend"
)

var _ backend.RetentionPager = (*Hosting)(nil)

// ListRetentions implements backend.Backend. What is being restored is in the list until
// the restore has succeeded.
func (h *Hosting) ListRetentions(ctx context.Context) ([]backend.RetainedLease, error) {
	page, _, err := h.PageRetentions(ctx, "", 0)
	return page, err
}

// PageRetentions implements backend.RetentionPager.
func (h *Hosting) PageRetentions(_ context.Context, continueToken string, limit int) ([]backend.RetainedLease, string, error) {
	var all []backend.RetainedLease
	for _, s := range h.sets.all() {
		if s.Left != nil && s.State != setReaping && s == h.sets.leftBy(s.Left.Lease) { // each lease once
			all = append(all, backend.RetainedLease{LeaseUUID: s.Left.Lease})
		}
	}
	page, next := backend.PaginateRetentions(all, continueToken, limit)
	return page, next, nil
}

// retainedInfo is a lease of which data is retained, as its holder reads it; nil is that
// none is.
func (h *Hosting) retainedInfo(lease string) *backend.ProvisionInfo {
	s := h.sets.leftBy(lease)
	if s == nil || s.State == setReaping {
		return nil
	}
	out := &backend.ProvisionInfo{
		LeaseUUID: lease, ProviderUUID: s.ProviderUUID, Status: backend.ProvisionStatusRetained, CreatedAt: s.Left.CreatedAt,
		RetainedUntil: h.cfg.Retention.until(s), BackendName: h.cfg.Name, Tenant: s.Tenant,
	}
	describeItems(out, s.Left.Items, s.Left.Images)
	return out
}

// describeItems fills in what a lease has of each service.
func describeItems(out *backend.ProvisionInfo, items []backend.LeaseItem, images map[string]string) {
	out.Items, out.ServiceImages = slices.Clone(items), maps.Clone(images)
	for _, item := range items {
		out.Quantity += item.Quantity
	}
	if len(items) == 1 {
		out.SKU = items[0].SKU
	}
	if len(images) == 1 {
		for _, image := range images {
			out.Image = image
		}
	}
}
