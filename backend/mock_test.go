package backend_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/backend"
)

// delay is how long a lease of the mock is on its way in these tests.
const delay = time.Minute

// calls keeps the callbacks that came.
type calls struct {
	mu  sync.Mutex
	all []backend.CallbackPayload
}

func (c *calls) add(p backend.CallbackPayload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, p)
}

func (c *calls) came() []backend.CallbackPayload {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

func newMock() (*backend.MockBackend, *calls) {
	m, c := backend.NewMockBackend(backend.MockBackendConfig{Name: "mock", ProvisionDelay: delay}), &calls{}
	m.SetCallbackFunc(c.add)
	return m, c
}

// pass lets time go by, and everything that is due happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func leaseOf(uuid string) backend.ProvisionRequest {
	return backend.ProvisionRequest{
		LeaseUUID: uuid, Tenant: "tenant", ProviderUUID: "provider",
		Items: []backend.LeaseItem{{SKU: "small", Quantity: 2}},
	}
}

func statusOf(t *testing.T, m *backend.MockBackend, uuid string) backend.ProvisionStatus {
	t.Helper()
	p, err := m.GetProvision(t.Context(), uuid)
	if err != nil {
		return ""
	}
	return p.Status
}

func TestALeaseOfTheMockIsReadyAfterTheDelayAndSaysSoOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, calls := newMock()
		began := time.Now()
		if err := m.Provision(t.Context(), leaseOf("1")); err != nil {
			t.Fatal(err)
		}
		pass(delay - 1)
		if got := statusOf(t, m, "1"); got != backend.ProvisionStatusProvisioning || len(calls.came()) != 0 {
			t.Errorf("before the delay is over it is %s, with callbacks %v", got, calls.came())
		}
		if _, err := m.GetInfo(t.Context(), "1"); !errors.Is(err, backend.ErrNotProvisioned) {
			t.Errorf("GetInfo of a lease on its way: %v", err)
		}
		pass(1)
		want := backend.CallbackPayload{LeaseUUID: "1", Status: backend.CallbackStatusSuccess, Backend: "mock"}
		if got := statusOf(t, m, "1"); got != backend.ProvisionStatusReady || !slices.Equal(calls.came(), []backend.CallbackPayload{want}) {
			t.Errorf("after the delay it is %s, with callbacks %v", got, calls.came())
		}
		info, err := m.GetInfo(t.Context(), "1")
		if err != nil || info.Host == "" || len(info.Ports) == 0 || info.Metadata["lease_uuid"] != "1" {
			t.Errorf("GetInfo of a lease that is ready: %+v, %v", info, err)
		}
		pass(10 * delay)
		if len(calls.came()) != 1 {
			t.Errorf("it had %d callbacks", len(calls.came()))
		}
		p, err := m.GetProvision(t.Context(), "1")
		if err != nil || p.Tenant != "tenant" || p.ProviderUUID != "provider" || p.Quantity != 2 || p.SKU != "small" ||
			p.BackendName != "mock" || !p.CreatedAt.Equal(began) {
			t.Errorf("GetProvision = %+v, %v", p, err)
		}
	})
}

func TestTheMockTakesALeaseAgainOnlyWhenItFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, calls := newMock()
		_ = m.Provision(t.Context(), leaseOf("1"))
		if err := m.Provision(t.Context(), leaseOf("1")); !errors.Is(err, backend.ErrAlreadyProvisioned) {
			t.Errorf("on its way: %v", err)
		}
		pass(delay)
		if err := m.Provision(t.Context(), leaseOf("1")); !errors.Is(err, backend.ErrAlreadyProvisioned) {
			t.Errorf("ready: %v", err)
		}
		m.SetProvisionStatus("1", backend.ProvisionStatusFailed)
		if p, _ := m.GetProvision(t.Context(), "1"); p.FailCount != 1 || p.Reason != backend.ReasonUnknown {
			t.Errorf("failed: %+v", p)
		}
		if err := m.Provision(t.Context(), leaseOf("1")); err != nil {
			t.Errorf("failed: %v", err)
		}
		pass(delay)
		if p, _ := m.GetProvision(t.Context(), "1"); p.Status != backend.ProvisionStatusReady || p.FailCount != 0 || len(calls.came()) != 2 {
			t.Errorf("ready again: %+v, with %d callbacks", p, len(calls.came()))
		}
	})
}

func TestWhatIsPreemptedInTheMockHasNoCallback(t *testing.T) {
	for name, preempt := range map[string]func(context.Context, *backend.MockBackend) error{
		"Deprovision": func(ctx context.Context, m *backend.MockBackend) error { return m.Deprovision(ctx, "1") },
		"Clear":       func(_ context.Context, m *backend.MockBackend) error { m.Clear(); return nil },
		"a status set": func(_ context.Context, m *backend.MockBackend) error {
			m.SetProvisionStatus("1", backend.ProvisionStatusFailing)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, calls := newMock()
				_ = m.Provision(t.Context(), leaseOf("1"))
				pass(delay - 1)
				if err := preempt(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				pass(2 * delay)
				if len(calls.came()) != 0 {
					t.Errorf("the callbacks are %v", calls.came())
				}
			})
		})
	}
}

func TestALeaseOfTheMockThatIsTakenAnewHasItsOwnDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, calls := newMock()
		_ = m.Provision(t.Context(), leaseOf("1"))
		pass(delay / 2)
		_ = m.Deprovision(t.Context(), "1")
		_ = m.Provision(t.Context(), leaseOf("1"))
		pass(delay / 2)
		if got := statusOf(t, m, "1"); got != backend.ProvisionStatusProvisioning {
			t.Errorf("when the first would have been ready it is %s", got)
		}
		pass(delay / 2)
		if got := statusOf(t, m, "1"); got != backend.ProvisionStatusReady || len(calls.came()) != 1 {
			t.Errorf("when the second is due it is %s, with %d callbacks", got, len(calls.came()))
		}
	})
}

func TestACallbackMayAskTheMock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := newMock()
		var seen backend.ProvisionStatus
		m.SetCallbackFunc(func(p backend.CallbackPayload) {
			seen = statusOf(t, m, p.LeaseUUID)
			_ = m.Deprovision(t.Context(), p.LeaseUUID)
		})
		_ = m.Provision(t.Context(), leaseOf("1"))
		pass(delay)
		if _, there := m.GetMockProvision("1"); there || seen != backend.ProvisionStatusReady {
			t.Errorf("the callback saw %q, and the lease is there: %v", seen, there)
		}
	})
}

func TestTheMockDoesWithoutACallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, calls := newMock()
		m.SetCallbackFunc(nil)
		_ = m.Provision(t.Context(), leaseOf("1"))
		pass(delay)
		if got := statusOf(t, m, "1"); got != backend.ProvisionStatusReady || len(calls.came()) != 0 {
			t.Errorf("it is %s, with %d callbacks", got, len(calls.came()))
		}
	})
}

func TestTheMockSaysOfAnUnknownLeaseWhatTheContractDoes(t *testing.T) {
	m := backend.NewMockBackend(backend.MockBackendConfig{})
	if _, err := m.GetInfo(t.Context(), "1"); !errors.Is(err, backend.ErrNotProvisioned) {
		t.Errorf("GetInfo: %v", err)
	}
	if _, err := m.GetProvision(t.Context(), "1"); !errors.Is(err, backend.ErrNotProvisioned) {
		t.Errorf("GetProvision: %v", err)
	}
	if err := m.Deprovision(t.Context(), "1"); err != nil {
		t.Errorf("Deprovision: %v", err)
	}
	if _, there := m.GetMockProvision("1"); there {
		t.Error("GetMockProvision has it")
	}
	m.SetProvisionStatus("1", backend.ProvisionStatusReady)
	if all, err := m.ListProvisions(t.Context()); err != nil || all == nil || len(all) != 0 {
		t.Errorf("ListProvisions = %v, %v; want none, and not nil", all, err)
	}
}

func TestTheMockDoesNothingWhereItSaysSo(t *testing.T) {
	m := backend.NewMockBackend(backend.MockBackendConfig{Name: "mock", ProvisionDelay: time.Hour})
	_ = m.Provision(t.Context(), leaseOf("1"))
	defer m.Clear()
	before, _ := m.GetMockProvision("1")
	for name, err := range map[string]error{
		"Restart":               m.Restart(t.Context(), backend.RestartRequest{LeaseUUID: "1"}),
		"Update":                m.Update(t.Context(), backend.UpdateRequest{LeaseUUID: "1"}),
		"Restore of one known":  m.Restore(t.Context(), backend.RestoreRequest{LeaseUUID: "2", FromLeaseUUID: "1"}),
		"RefreshState":          m.RefreshState(t.Context()),
		"Health":                m.Health(t.Context()),
		"ReconcileCustomDomain": m.ReconcileCustomDomain(t.Context(), "1", nil),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := m.Restore(t.Context(), backend.RestoreRequest{LeaseUUID: "2", FromLeaseUUID: "3"}); !errors.Is(err, backend.ErrNotRetained) {
		t.Errorf("Restore of one that is not known: %v", err)
	}
	after, _ := m.GetMockProvision("1")
	if after.Status != before.Status || after.CreatedAt != before.CreatedAt {
		t.Errorf("the lease was %+v and is %+v", before, after)
	}
	if all, _ := m.ListProvisions(t.Context()); len(all) != 1 {
		t.Errorf("there are %d leases", len(all))
	}
	if logs, err := m.GetLogs(t.Context(), "1", 10); err != nil || logs == nil || len(logs) != 0 {
		t.Errorf("GetLogs = %v, %v", logs, err)
	}
	if releases, err := m.GetReleases(t.Context(), "1"); err != nil || releases == nil || len(releases) != 0 {
		t.Errorf("GetReleases = %v, %v", releases, err)
	}
}

func TestNobodyChangesTheMockThroughWhatWasHandedOver(t *testing.T) {
	m := backend.NewMockBackend(backend.MockBackendConfig{ProvisionDelay: time.Hour})
	defer m.Clear()
	req := leaseOf("1")
	_ = m.Provision(t.Context(), req)
	req.Items[0].SKU = "changed"
	p, _ := m.GetMockProvision("1")
	p.Request.Items[0].SKU, p.Status = "changed", "changed"
	info, _ := m.GetProvision(t.Context(), "1")
	info.Items[0].SKU = "changed"
	if p, _ := m.GetMockProvision("1"); p.Request.Items[0].SKU != "small" || p.Status != backend.ProvisionStatusProvisioning {
		t.Errorf("the lease is %+v", p)
	}

	if stats, err := m.GetLoadStats(t.Context()); stats != nil || err != nil {
		t.Errorf("load that nobody set: %v, %v", stats, err)
	}
	given := &backend.LoadStats{TotalCPUCores: 1}
	m.SetLoadStats(given)
	given.TotalCPUCores = 2
	got, _ := m.GetLoadStats(t.Context())
	got.TotalCPUCores = 3
	if got, _ := m.GetLoadStats(t.Context()); got.TotalCPUCores != 1 {
		t.Errorf("the load is %+v", got)
	}
	m.SetLoadStats(nil)
	if got, _ := m.GetLoadStats(t.Context()); got != nil {
		t.Errorf("the load that was taken back is %+v", got)
	}

	if kept, err := m.ListRetentions(t.Context()); kept == nil || len(kept) != 0 || err != nil {
		t.Errorf("retentions that nobody set: %v, %v", kept, err)
	}
	leases := []backend.RetainedLease{{LeaseUUID: "1"}}
	m.SetRetentions(leases)
	leases[0].LeaseUUID = "changed"
	kept, _ := m.ListRetentions(t.Context())
	kept[0].LeaseUUID = "changed"
	if kept, _ := m.ListRetentions(t.Context()); kept[0].LeaseUUID != "1" {
		t.Errorf("the retentions are %v", kept)
	}
}

func TestALookupOfTheMockHasEachKnownLeaseOnce(t *testing.T) {
	m := backend.NewMockBackend(backend.MockBackendConfig{ProvisionDelay: time.Hour})
	defer m.Clear()
	for _, uuid := range []string{"3", "1", "2"} {
		_ = m.Provision(t.Context(), leaseOf(uuid))
	}
	found, err := m.LookupProvisions(t.Context(), []string{"3", "9", "1", "3"})
	if err != nil || len(found) != 2 || found[0].LeaseUUID != "1" || found[1].LeaseUUID != "3" {
		t.Errorf("LookupProvisions = %v, %v", found, err)
	}
	if found, err := m.LookupProvisions(t.Context(), nil); err != nil || found == nil || len(found) != 0 {
		t.Errorf("a lookup of none: %v, %v", found, err)
	}
	if _, err := m.LookupProvisions(t.Context(), make([]string, backend.MaxLookupUUIDs+1)); !errors.Is(err, backend.ErrValidation) {
		t.Errorf("a lookup of too many: %v", err)
	}
}

// TestTheMockIsItsModel compares the mock with what its leases must be by their
// times alone.
func TestTheMockIsItsModel(t *testing.T) {
	type lease struct {
		due    time.Time // zero: it is not on its way
		status backend.ProvisionStatus
	}
	uuids := rapid.SampledFrom([]string{"1", "2", "3"})
	rapid.Check(t, func(rt *rapid.T) {
		// A bubble has no place for rapid's own panics, so the draws come first.
		steps := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) [2]string {
			return [2]string{rapid.SampledFrom([]string{"provision", "deprovision", "fail", "pass"}).Draw(rt, "step"), uuids.Draw(rt, "lease")}
		}), 1, 60).Draw(rt, "steps")
		problem := ""
		synctest.Test(t, func(t *testing.T) {
			m, calls := newMock()
			defer m.Clear()
			model, callbacks := map[string]*lease{}, 0
			for i, step := range steps {
				uuid, l := step[1], model[step[1]]
				switch step[0] {
				case "provision":
					err := m.Provision(t.Context(), leaseOf(uuid))
					refuse := l != nil && l.status != backend.ProvisionStatusFailed
					if refuse != errors.Is(err, backend.ErrAlreadyProvisioned) {
						problem = fmt.Sprintf("step %d, %v: %v", i, step, err)
					}
					if !refuse {
						model[uuid] = &lease{time.Now().Add(delay), backend.ProvisionStatusProvisioning}
					}
				case "deprovision":
					_ = m.Deprovision(t.Context(), uuid)
					delete(model, uuid)
				case "fail":
					m.SetProvisionStatus(uuid, backend.ProvisionStatusFailed)
					if l != nil {
						*l = lease{status: backend.ProvisionStatusFailed}
					}
				case "pass":
					pass(delay / 3)
				}
				for uuid, l := range model {
					if !l.due.IsZero() && !l.due.After(time.Now()) {
						*l = lease{status: backend.ProvisionStatusReady}
						callbacks++
					}
					if got := statusOf(t, m, uuid); got != l.status {
						problem = fmt.Sprintf("step %d, %v: %s is %q; want %q", i, step, uuid, got, l.status)
					}
				}
				if all, _ := m.ListProvisions(t.Context()); len(all) != len(model) || len(calls.came()) != callbacks {
					problem = fmt.Sprintf("step %d, %v: %d leases and %d callbacks; want %d and %d", i, step, len(all), len(calls.came()), len(model), callbacks)
				}
				if problem != "" {
					return
				}
			}
		})
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}
