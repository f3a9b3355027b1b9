package hosting

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/backend"
)

// Restore implements backend.Backend: nothing is retained, so there is nothing to
// restore.
func (h *Hosting) Restore(_ context.Context, req backend.RestoreRequest) error {
	return fmt.Errorf("lease %s: %w", req.FromLeaseUUID, backend.ErrNotRetained)
}

// ListRetentions implements backend.Backend: nothing is retained.
func (h *Hosting) ListRetentions(context.Context) ([]backend.RetainedLease, error) {
	return []backend.RetainedLease{}, nil
}
