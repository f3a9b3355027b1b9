package hosting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/provider"
)

// info is a row as its holder reads it.
func (h *Hosting) info(r *row) backend.ProvisionInfo {
	out := backend.ProvisionInfo{
		LeaseUUID: r.Lease, ProviderUUID: r.ProviderUUID, Status: r.Status, CreatedAt: r.CreatedAt, FailCount: r.FailCount,
		Reason: r.Reason, Message: r.Message, LastError: r.Message, BackendName: h.cfg.Name, Tenant: r.Tenant,
	}
	var images map[string]string
	if rel := r.release(r.manifestVersion()); rel != nil {
		images = rel.Images
	}
	describeItems(&out, r.Items, images)
	return out
}

// live is the row of a lease that is not about to be forgotten.
func (h *Hosting) live(lease string) (*row, error) {
	r := h.rows.get(lease).row
	if r == nil || r.Gone {
		return nil, unknown(lease)
	}
	return r, nil
}

// GetProvision implements backend.Backend: a lease as it is, else as it is retained, else
// as it failed last.
func (h *Hosting) GetProvision(ctx context.Context, lease string) (*backend.ProvisionInfo, error) {
	r, unknown := h.live(lease)
	if unknown == nil {
		out := h.info(r)
		return &out, nil
	}
	if out := h.retainedInfo(lease); out != nil {
		return out, nil
	}
	d, err := h.diagnosis(ctx, lease)
	switch {
	case err != nil:
		return nil, err
	case d != nil:
		return d.info(h.cfg.Name), nil
	}
	return nil, unknown
}

// ListProvisions implements backend.Backend.
func (h *Hosting) ListProvisions(ctx context.Context) ([]backend.ProvisionInfo, error) {
	page, _, err := h.PageProvisions(ctx, "", 0)
	return page, err
}

// PageProvisions implements backend.ProvisionPager.
func (h *Hosting) PageProvisions(_ context.Context, continueToken string, limit int) ([]backend.ProvisionInfo, string, error) {
	if limit <= 0 {
		continueToken, limit = "", 0
	}
	rows, more := h.rows.page(continueToken, min(limit, backend.MaxPageLimit))
	out := make([]backend.ProvisionInfo, 0, len(rows))
	for _, r := range rows {
		if !r.Gone {
			out = append(out, h.info(r))
		}
	}
	if !more {
		return out, "", nil
	}
	return out, rows[len(rows)-1].Lease, nil
}

// LookupProvisions implements backend.Backend.
func (h *Hosting) LookupProvisions(_ context.Context, leases []string) ([]backend.ProvisionInfo, error) {
	if len(leases) == 0 || len(leases) > backend.MaxLookupUUIDs {
		return nil, fmt.Errorf("%w: a lookup names 1 to %d leases, not %d", backend.ErrValidation, backend.MaxLookupUUIDs, len(leases))
	}
	out := []backend.ProvisionInfo{}
	asked := map[string]bool{}
	for _, lease := range leases {
		if r, err := h.live(lease); err == nil && !asked[lease] {
			out = append(out, h.info(r))
		}
		asked[lease] = true
	}
	return out, nil
}

// GetReleases implements backend.Backend.
func (h *Hosting) GetReleases(ctx context.Context, lease string) ([]backend.ReleaseInfo, error) {
	r, err := h.live(lease)
	if err != nil {
		return nil, err
	}
	out := make([]backend.ReleaseInfo, 0, len(r.Releases))
	for _, rel := range r.Releases {
		payload, err := h.rows.manifest(ctx, lease, rel.Version)
		if errors.Is(err, provider.ErrNotFound) {
			continue // it went since the row was read
		}
		if err != nil {
			return nil, err
		}
		out = append(out, backend.ReleaseInfo{
			Version: rel.Version, Image: imagesOf(rel), Status: rel.Status, CreatedAt: rel.CreatedAt,
			Error: rel.Message, Reason: rel.Reason, Message: rel.Message, Manifest: payload,
		})
	}
	return out, nil
}

// imagesOf is the images of a release, each once.
func imagesOf(rel release) string {
	images := slices.Sorted(maps.Values(rel.Images))
	return strings.Join(slices.Compact(images), ",")
}

// RefreshState implements backend.Backend: every lease is looked at once, by
// whoever watches.
func (h *Hosting) RefreshState(context.Context) error {
	all, _ := h.rows.page("", 0)
	for _, r := range all {
		h.hub.Tell(r.Lease)
	}
	return nil
}

// Health implements backend.Backend.
func (h *Hosting) Health(ctx context.Context) error {
	if _, err := h.cfg.Store.List(ctx, "health/"); err != nil {
		return fmt.Errorf("the store: %w", err)
	}
	if checks, ok := h.cfg.Provider.(provider.HealthChecker); ok {
		st, err := checks.HealthCheck(ctx)
		if err != nil {
			return fmt.Errorf("the provider: %w", err)
		}
		if !st.Healthy {
			return errors.New("the provider is not healthy: " + st.Message)
		}
	}
	return nil
}

// GetLoadStats implements backend.Backend.
func (h *Hosting) GetLoadStats(context.Context) (*backend.LoadStats, error) {
	return h.Stats().Load(), nil
}

// Bounds of GetLogs, in bytes.
const (
	maxLog  = 5 << 20  // of a container
	maxLogs = 32 << 20 // of a lease
)

// GetLogs implements backend.Backend. Of a lease that failed and whose containers are
// gone it is what was kept of them.
func (h *Hosting) GetLogs(ctx context.Context, lease string, tail int) (map[string]string, error) {
	if tail <= 0 {
		tail = backend.DefaultLogTail
	}
	r, unknown := h.live(lease)
	if unknown != nil || r.Status == backend.ProvisionStatusFailed && len(r.Workloads) == 0 {
		d, err := h.diagnosis(ctx, lease)
		switch {
		case err != nil:
			return nil, err
		case d != nil:
			return d.tail(min(tail, backend.MaxLogTail)), nil
		case unknown != nil:
			return nil, unknown
		}
	}
	out, left := map[string]string{}, maxLogs
	for _, item := range r.Items {
		one, ok := r.Workloads[item.ServiceName]
		if !ok {
			continue
		}
		for i := range item.Quantity {
			text, err := h.log(ctx, one, i, min(tail, backend.MaxLogTail), min(maxLog, left))
			switch {
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case err != nil:
				h.cfg.Logger.WarnContext(ctx, "a log cannot be read", "lease", lease, "service", item.ServiceName, "instance", i, "error", err)
				text = "<log unavailable>"
			}
			left -= len(text)
			out[item.ServiceName+"/"+strconv.Itoa(i)] = text
		}
	}
	return out, nil
}

// log is the last lines of one container, cut at a size.
func (h *Hosting) log(ctx context.Context, one workload, replica, tail, size int) (string, error) {
	stream, err := h.cfg.Provider.Logs(ctx, one.Instance, provider.LogOptions{Tail: tail, Replica: &replica})
	if errors.Is(err, provider.ErrNotFound) {
		return "", nil // not there yet
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = stream.Close() }()
	var text strings.Builder
	for line, err := range provider.DecodeLogs(stream) {
		if err != nil {
			return "", err
		}
		if text.Len()+len(line.Line) >= size {
			text.WriteString("[the rest is left out]\n")
			break
		}
		text.WriteString(line.Line)
		if !line.Partial {
			text.WriteByte('\n')
		}
	}
	return text.String(), nil
}
