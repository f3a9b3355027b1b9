package hosting

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/backend"
)

// domains refuses items with a custom domain where nobody would route it.
func (h *Hosting) domains(items []backend.LeaseItem, kind error) error {
	for _, item := range items {
		if item.CustomDomain != "" && !h.cfg.Domains {
			return fmt.Errorf("%w: backend %s serves no custom domains; take that of service %s away", kind, h.cfg.Name, item.ServiceName)
		}
	}
	return nil
}

// ReconcileCustomDomain implements backend.Backend. It notes the domains for who
// routes them; a lease that is not known, or not active, is left alone. Where nobody
// routes them a domain is backend.ErrInvalidState.
func (h *Hosting) ReconcileCustomDomain(ctx context.Context, lease string, items []backend.LeaseItem) error {
	items, err := backend.NormalizeItems(items)
	if err != nil {
		return err
	}
	return h.change(ctx, lease, func(r *row) (*row, error) {
		if r == nil || r.Status != backend.ProvisionStatusReady {
			return nil, nil
		}
		if err := h.domains(items, backend.ErrInvalidState); err != nil {
			return nil, err
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
