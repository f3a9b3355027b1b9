package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/provider"
)

// Bounds of what is kept of a lease that failed.
const (
	diagnosisLines = 100       // of each container
	diagnosisLog   = 16 << 10  // bytes of each container
	diagnosisLogs  = 512 << 10 // bytes of a lease
	// DiagnosisAge is for how long it is kept, unless the lease is ready before.
	DiagnosisAge = 7 * 24 * time.Hour
	// gatherTime bounds the gathering.
	gatherTime = 10 * time.Second

	diagnosisPrefix = "diagnostics/"
	diagnosisFormat = 1
)

// diagnosis is what is known of a lease that failed, when its containers are gone. The
// logs are the tenant's own; the rest is fit for him, but for what the provider said.
type diagnosis struct {
	Format       int                 `json:"format"`
	Lease        string              `json:"lease"`
	Tenant       string              `json:"tenant"`
	ProviderUUID string              `json:"provider_uuid,omitempty"`
	Items        []backend.LeaseItem `json:"items,omitempty"`
	CreatedAt    time.Time           `json:"created_at"`
	At           time.Time           `json:"at"`
	Reason       backend.Reason      `json:"reason"`
	Message      string              `json:"message"`
	Said         string              `json:"said,omitempty"` // by the provider; not for the tenant
	FailCount    int                 `json:"fail_count"`
	Images       map[string]string   `json:"images,omitempty"`
	Logs         map[string]string   `json:"logs,omitempty"` // by service/index
}

// diagnoses knows of which leases there is a diagnosis, and since when.
type diagnoses struct {
	store provider.StateStore
	mu    sync.Mutex
	since map[string]time.Time
}

// openDiagnoses reads which there are. One that cannot be read is as old as can be: it
// is worth nothing.
func openDiagnoses(ctx context.Context, store provider.StateStore) (*diagnoses, error) {
	keys, err := store.List(ctx, diagnosisPrefix)
	if err != nil {
		return nil, fmt.Errorf("list the diagnoses: %w", err)
	}
	d := &diagnoses{store: store, since: make(map[string]time.Time, len(keys))}
	for _, key := range keys {
		lease := strings.TrimPrefix(key, diagnosisPrefix)
		one, err := d.read(ctx, lease)
		if err != nil && !errors.Is(err, errUnreadable) {
			return nil, err
		}
		if one != nil {
			d.since[lease] = one.At
		} else {
			d.since[lease] = time.Time{}
		}
	}
	return d, nil
}

var errUnreadable = errors.New("a diagnosis cannot be read")

func (d *diagnoses) read(ctx context.Context, lease string) (*diagnosis, error) {
	rec, err := d.store.Get(ctx, diagnosisPrefix+lease)
	if errors.Is(err, provider.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the diagnosis of lease %s: %w", lease, err)
	}
	var one diagnosis
	if err := json.Unmarshal(rec.Value, &one); err != nil || one.Format != diagnosisFormat {
		return nil, fmt.Errorf("lease %s: %w", lease, errUnreadable)
	}
	return &one, nil
}

func (d *diagnoses) known(lease string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, known := d.since[lease]
	return known
}

func (d *diagnoses) put(ctx context.Context, one *diagnosis) error {
	b, err := json.Marshal(one)
	if err != nil {
		return fmt.Errorf("encode the diagnosis of lease %s: %w", one.Lease, err)
	}
	rec, err := d.store.Get(ctx, diagnosisPrefix+one.Lease)
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		return fmt.Errorf("read the diagnosis of lease %s: %w", one.Lease, err)
	}
	d.mu.Lock()
	d.since[one.Lease] = one.At // also where nobody knows whether it is written
	d.mu.Unlock()
	if _, err := d.store.Put(ctx, diagnosisPrefix+one.Lease, b, rec.Version); err != nil {
		return fmt.Errorf("write the diagnosis of lease %s: %w", one.Lease, err)
	}
	return nil
}

func (d *diagnoses) drop(ctx context.Context, lease string) error {
	if !d.known(lease) {
		return nil
	}
	rec, err := d.store.Get(ctx, diagnosisPrefix+lease)
	if err == nil {
		err = d.store.Delete(ctx, diagnosisPrefix+lease, rec.Version)
	}
	if err != nil && !errors.Is(err, provider.ErrNotFound) {
		return fmt.Errorf("delete the diagnosis of lease %s: %w", lease, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.since, lease)
	return nil
}

// conclude writes what a step came to. Of a lease that fails with it what its containers
// said is kept first, as far as it can be had in time; of one that is ready after
// all, nothing is kept.
func (h *Hosting) conclude(ctx context.Context, next *row, k kept) error {
	if f := newFailure(k.row, next); f != nil {
		if err := h.diagnose(ctx, k.row, next, f); err != nil {
			h.cfg.Logger.WarnContext(ctx, "no diagnosis is kept", "lease", next.Lease, "error", err)
		}
		if err := ctx.Err(); err != nil {
			return err // it is overtaken, and tells nothing
		}
		h.cfg.Logger.WarnContext(ctx, "a lease failed", "lease", next.Lease, "reason", f.Reason, "message", f.Message, "provider", f.Said)
	}
	if next.Status == backend.ProvisionStatusReady && next.FailCount == 0 && next.Op == nil {
		if err := h.diagnoses.drop(ctx, next.Lease); err != nil {
			return err
		}
	}
	h.hear(next.Lease, nil)
	return h.write(ctx, next, k)
}

// newFailure is why a lease fails that did not before; nil is that it does not.
func newFailure(before, next *row) *failure {
	switch {
	case next.Status == backend.ProvisionStatusFailed && before.Status != next.Status:
		return &failure{next.Reason, next.Message, next.Said}
	case next.Op != nil && next.Op.Failed != nil && (before.Op == nil || before.Op.Failed == nil):
		return next.Op.Failed
	}
	return nil
}

// diagnose keeps why a lease fails and what its containers said last; where none are left
// what they said before stays.
func (h *Hosting) diagnose(ctx context.Context, before, next *row, f *failure) error {
	ctx, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	one := &diagnosis{
		Format: diagnosisFormat, Lease: next.Lease, Tenant: next.Tenant, ProviderUUID: next.ProviderUUID, Items: next.Items,
		CreatedAt: next.CreatedAt, At: h.cfg.Now(), Reason: f.Reason, Message: f.Message, Said: f.Said, FailCount: next.FailCount,
	}
	if rel := before.release(before.manifestVersion()); rel != nil {
		one.Images = rel.Images
	}
	if len(before.Workloads) > 0 {
		one.Logs = h.lastWords(ctx, before)
	} else if old, err := h.diagnoses.read(ctx, next.Lease); err == nil && old != nil && old.CreatedAt.Equal(one.CreatedAt) {
		one.Logs = old.Logs
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), resolveTime)
	defer cancel()
	return h.diagnoses.put(ctx, one)
}

// lastWords are the ends of the logs that can be read in time.
func (h *Hosting) lastWords(ctx context.Context, r *row) map[string]string {
	out, left := map[string]string{}, diagnosisLogs
	for _, item := range r.Items {
		one, ok := r.Workloads[item.ServiceName]
		for i := 0; ok && i < item.Quantity && left > 0; i++ {
			text, err := h.log(ctx, one, i, diagnosisLines, min(diagnosisLog, left))
			if ctx.Err() != nil {
				return out
			}
			if err == nil && text != "" {
				left -= len(text)
				out[item.ServiceName+"/"+strconv.Itoa(i)] = text
			}
		}
	}
	return out
}

// diagnosis is what is kept of a lease, nil for nothing.
func (h *Hosting) diagnosis(ctx context.Context, lease string) (*diagnosis, error) {
	if !h.diagnoses.known(lease) {
		return nil, nil
	}
	one, err := h.diagnoses.read(ctx, lease)
	switch {
	case errors.Is(err, errUnreadable):
		return nil, nil
	case err != nil || one == nil:
		return nil, err
	case !h.cfg.Now().Before(one.At.Add(DiagnosisAge)):
		return nil, nil
	}
	return one, nil
}

// info is a diagnosis as its holder reads it.
func (d *diagnosis) info(name string) *backend.ProvisionInfo {
	out := &backend.ProvisionInfo{
		LeaseUUID: d.Lease, ProviderUUID: d.ProviderUUID, Status: backend.ProvisionStatusFailed, CreatedAt: d.CreatedAt, FailCount: d.FailCount,
		Reason: d.Reason, Message: d.Message, LastError: d.Message, BackendName: name, Tenant: d.Tenant,
	}
	describeItems(out, d.Items, d.Images)
	return out
}

// tail is the last lines of each log.
func (d *diagnosis) tail(lines int) map[string]string {
	out := make(map[string]string, len(d.Logs))
	for name, text := range d.Logs {
		all := strings.SplitAfter(text, "\n")
		if all[len(all)-1] == "" {
			all = all[:len(all)-1]
		}
		out[name] = strings.Join(all[max(len(all)-lines, 0):], "")
	}
	return out
}

// forgetDiagnoses deletes those that are old, and says when the next one is.
func (h *Hosting) forgetDiagnoses(ctx context.Context) (time.Duration, error) {
	h.diagnoses.mu.Lock()
	all := maps.Clone(h.diagnoses.since)
	h.diagnoses.mu.Unlock()
	var next time.Duration
	var failures []error
	for _, lease := range slices.Sorted(maps.Keys(all)) {
		left := all[lease].Add(DiagnosisAge).Sub(h.cfg.Now())
		if left > 0 {
			next = sooner(next, left)
			continue
		}
		failures = append(failures, h.diagnoses.drop(ctx, lease))
	}
	return next, errors.Join(failures...)
}
