package hosting

import (
	"context"

	"github.com/berth-cloud/berth/backend"
)

// ReconcileCustomDomain implements backend.Backend. It notes the domains; a lease
// that is not known, or not active, is left alone.
func (h *Hosting) ReconcileCustomDomain(ctx context.Context, lease string, items []backend.LeaseItem) error {
	items, err := backend.NormalizeItems(items)
	if err != nil {
		return err
	}
	return h.change(ctx, lease, func(r *row) (*row, error) {
		if r == nil || r.Status != backend.ProvisionStatusReady {
			return nil, nil
		}
		changed := false
		for _, item := range items {
			for i := range r.Items {
				if r.Items[i].ServiceName == item.ServiceName && r.Items[i].CustomDomain != item.CustomDomain {
					r.Items[i].CustomDomain, changed = item.CustomDomain, true
				}
			}
		}
		if !changed {
			return nil, nil
		}
		return r, nil
	})
}
