package backendtest_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/backendtest"
)

// Manifests and SKUs that a memory knows.
const (
	manifest, other, broken, invalid = "one", "two", "broken", "invalid"
	sku, domain                      = "small", "shop.example"
	capacity                         = 200
)

// held is a lease in memory.
type held struct {
	req      backend.ProvisionRequest
	manifest []byte // that serves
	status   backend.ProvisionStatus
	created  time.Time
	fails    int
	reason   backend.Reason
	message  string
	releases []backend.ReleaseInfo
	retained bool
	work     *time.Timer // nil when nothing is under way
}

// memory is a backend that has all features and runs nothing.
type memory struct {
	delay     time.Duration
	callbacks *backendtest.Callbacks
	tell      func(backend.CallbackPayload)

	mu     sync.Mutex
	leases map[string]*held
}

var (
	_ backend.Backend        = (*memory)(nil)
	_ backend.ProvisionPager = (*memory)(nil)
	_ backend.RetentionPager = (*memory)(nil)
)

func newMemory(delay time.Duration) *memory {
	m := &memory{delay: delay, callbacks: new(backendtest.Callbacks), leases: map[string]*held{}}
	m.tell = m.callbacks.Record
	return m
}

func (m *memory) fixture() backendtest.Fixture {
	return backendtest.Fixture{
		Backend: m, Callbacks: m.callbacks, CallbackURL: "http://holder.example/callbacks",
		SKU: sku, SmallerSKU: "smaller", UnknownSKU: "unknown", Domain: domain,
		Manifest: []byte(manifest), Other: []byte(other), Broken: []byte(broken), Invalid: []byte(invalid),
		Huge:  []backend.LeaseItem{{SKU: sku, Quantity: capacity + 1, ServiceName: "app"}},
		Break: m.breakLease,
		Wait:  backendtest.Poll(2*time.Millisecond, 10*time.Second),
	}
}

// enter takes the lock unless the call's context has ended.
func (m *memory) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	return nil
}

// live is a lease that is there; the lock is held.
func (m *memory) live(id string) (*held, error) {
	h := m.leases[id]
	if h == nil || h.retained {
		return nil, fmt.Errorf("%w: %s", backend.ErrNotProvisioned, id)
	}
	return h, nil
}

func (m *memory) allocated() (n int) {
	for _, h := range m.leases {
		if !h.retained {
			n += h.req.TotalQuantity()
		}
	}
	return n
}

// begin puts a lease to work on a manifest; the lock is held.
func (m *memory) begin(h *held, status backend.ProvisionStatus, next []byte, release bool) {
	h.status = status
	if release {
		h.releases = append(h.releases, backend.ReleaseInfo{
			Version: len(h.releases) + 1, Image: "image", Status: backend.ReleaseStatusDeploying, CreatedAt: time.Now().UTC(), Manifest: bytes.Clone(next),
		})
	}
	var work *time.Timer
	work = time.AfterFunc(m.delay, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if h.work == work {
			h.work = nil
			m.end(h, next, release)
		}
	})
	h.work = work
}

// end is when the work is done; the lock is held.
func (m *memory) end(h *held, next []byte, release bool) {
	payload := backend.CallbackPayload{LeaseUUID: h.req.LeaseUUID, Status: backend.CallbackStatusSuccess, Backend: m.Name()}
	last := len(h.releases) - 1
	if string(next) == broken {
		h.releases[last].Status, h.releases[last].Reason, h.releases[last].Message = backend.ReleaseStatusFailed, backend.ReasonContainerExited, "container exited during startup"
		h.status = backend.ProvisionStatusReady
		h.reason, h.message = backend.ReasonContainerExited, "container exited during startup"
		if h.manifest == nil {
			h.status, h.fails = backend.ProvisionStatusFailed, h.fails+1
		}
		payload.Status, payload.Error = backend.CallbackStatusFailed, h.message
		m.tell(payload)
		return
	}
	if release {
		for i := range h.releases[:last] {
			if h.releases[i].Status == backend.ReleaseStatusActive {
				h.releases[i].Status = backend.ReleaseStatusSuperseded
			}
		}
		h.releases[last].Status = backend.ReleaseStatusActive
	}
	h.manifest, h.status, h.fails, h.reason, h.message = next, backend.ProvisionStatusReady, 0, "", ""
	m.tell(payload)
}

func (m *memory) breakLease(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.leases[id]
	h.status, h.fails, h.reason, h.message, h.manifest = backend.ProvisionStatusFailed, h.fails+1, backend.ReasonContainerExited, "container exited unexpectedly", nil
	m.tell(backend.CallbackPayload{LeaseUUID: id, Status: backend.CallbackStatusFailed, Error: h.message})
}

func (m *memory) check(items []backend.LeaseItem, payload []byte) error {
	for _, item := range items {
		if item.SKU != sku {
			return fmt.Errorf("%w: %q", backend.ErrUnknownSKU, item.SKU)
		}
	}
	if string(payload) == invalid {
		return fmt.Errorf("%w: it does not parse", backend.ErrInvalidManifest)
	}
	return nil
}

func (m *memory) Provision(ctx context.Context, req backend.ProvisionRequest) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if err := backend.NormalizeProvisionRequest(&req); err != nil {
		return err
	}
	if err := m.check(req.Items, req.Payload); err != nil {
		return err
	}
	h := m.leases[req.LeaseUUID]
	switch {
	case h == nil || h.retained:
		h = &held{created: time.Now().UTC()}
	case h.status != backend.ProvisionStatusFailed:
		return fmt.Errorf("%w: %s", backend.ErrAlreadyProvisioned, req.LeaseUUID)
	}
	if m.allocated()+req.TotalQuantity() > capacity {
		return backend.ErrInsufficientResources
	}
	h.req = req
	m.leases[req.LeaseUUID] = h
	m.begin(h, backend.ProvisionStatusProvisioning, bytes.Clone(req.Payload), true)
	return nil
}

func (m *memory) Deprovision(ctx context.Context, id string) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	h, err := m.live(id)
	if err != nil {
		return nil
	}
	if h.work != nil {
		h.work.Stop()
		h.work = nil
	}
	payload := backend.CallbackPayload{LeaseUUID: id, Status: backend.CallbackStatusDeprovisioned, Retained: h.manifest != nil}
	if h.retained = payload.Retained; h.retained {
		h.status = backend.ProvisionStatusRetained
	} else {
		delete(m.leases, id)
	}
	m.tell(payload)
	return nil
}

func (m *memory) Restart(ctx context.Context, req backend.RestartRequest) error {
	return m.change(ctx, req.LeaseUUID, backend.ProvisionStatusRestarting, nil)
}

func (m *memory) Update(ctx context.Context, req backend.UpdateRequest) error {
	if err := m.check(nil, req.Payload); err != nil {
		return err
	}
	return m.change(ctx, req.LeaseUUID, backend.ProvisionStatusUpdating, req.Payload)
}

func (m *memory) change(ctx context.Context, id string, to backend.ProvisionStatus, next []byte) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	h, err := m.live(id)
	if err != nil {
		return err
	}
	if h.status != backend.ProvisionStatusReady {
		return fmt.Errorf("%w: the lease is %s", backend.ErrInvalidState, h.status)
	}
	if next == nil {
		m.begin(h, to, h.manifest, false)
	} else {
		m.begin(h, to, bytes.Clone(next), true)
	}
	return nil
}

func (m *memory) Restore(ctx context.Context, req backend.RestoreRequest) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	items, err := backend.NormalizeItems(req.Items)
	if err != nil {
		return err
	}
	from := m.leases[req.FromLeaseUUID]
	switch {
	case m.leases[req.LeaseUUID] != nil:
		return backend.ErrAlreadyProvisioned
	case from == nil || !from.retained || from.req.Tenant != req.Tenant:
		return backend.ErrNotRetained
	case req.ProviderUUID != "" && req.ProviderUUID != from.req.ProviderUUID, !maps.Equal(shape(items), shape(from.req.Items)):
		return backend.ErrValidation
	}
	delete(m.leases, req.FromLeaseUUID)
	h := &held{created: time.Now().UTC(), req: from.req}
	h.req.LeaseUUID, h.req.Items = req.LeaseUUID, items
	m.leases[req.LeaseUUID] = h
	m.begin(h, backend.ProvisionStatusProvisioning, from.manifest, true)
	return nil
}

func shape(items []backend.LeaseItem) map[string]int {
	out := map[string]int{}
	for _, item := range items {
		out[item.ServiceName] += item.Quantity
	}
	return out
}

func (m *memory) ReconcileCustomDomain(ctx context.Context, id string, items []backend.LeaseItem) error {
	if err := m.enter(ctx); err != nil {
		return err
	}
	defer m.mu.Unlock()
	if h, err := m.live(id); err == nil && h.status == backend.ProvisionStatusReady {
		h.req.Items = slices.Clone(items)
	}
	return nil
}

func TestMemoryConforms(t *testing.T) {
	backendtest.Run(t, func(testing.TB) backendtest.Fixture {
		fx := newMemory(3 * time.Millisecond).fixture()
		fx.Parallel = true
		return fx
	})
}
