package backendtest_test

import (
	"context"
	"errors"
	"time"

	"github.com/berth-cloud/berth/backend"
)

var retentionMutations = []mutation{
	{"nothing is retained", func(m *mutant) {
		m.retentions = func(ctx context.Context) ([]backend.RetainedLease, error) { return nil, ctx.Err() }
	}, []string{"Retention/WhatWasReadyIsKept", "Retention/IsTold", "Retention/Pages", "Restore/BringsTheLeaseBack"}},
	{"what is retained is not told", func(m *mutant) {
		tell := m.tell
		m.tell = func(p backend.CallbackPayload) {
			p.Retained = false
			tell(p)
		}
	}, []string{"Retention/IsTold"}},
	{"restore is a quick lie", func(m *mutant) {
		m.restore = func(context.Context, backend.RestoreRequest) error { return nil }
	}, []string{
		"Restore/BringsTheLeaseBack", "Restore/OfNothing", "Restore/OfAnotherTenant", "Restore/OfAnotherShape", "Restore/OfAnotherProvider", "Restore/OfAnyProvider",
		"Restore/OntoALease", "Restore/OfALease", "Restore/OneOfMany", "Restore/IsRetainedInItsTurn", "Restore/ToASmallerSKU", "Cancel/Restore",
	}},
	{"what is retained is too old at once", func(m *mutant) {
		m.get = func(ctx context.Context, id string) (*backend.ProvisionInfo, error) {
			p, err := m.memory.GetProvision(ctx, id)
			if err == nil && p.Status == backend.ProvisionStatusRetained {
				p.RetainedUntil = p.CreatedAt.Add(-time.Second)
			}
			return p, err
		}
	}, []string{"Retention/WhatWasReadyIsKept"}},
	{"what does not fit is gone", func(m *mutant) {
		m.restore = func(ctx context.Context, r backend.RestoreRequest) error {
			if r.Items[0].SKU != sku {
				m.mu.Lock()
				defer m.mu.Unlock()
				delete(m.leases, r.FromLeaseUUID)
				return backend.ErrDemoteDataExceedsTier
			}
			return m.memory.Restore(ctx, r)
		}
	}, []string{"Restore/ToASmallerSKU"}},
	{"what was restored stays retained", func(m *mutant) {
		m.restore = func(ctx context.Context, r backend.RestoreRequest) error {
			m.mu.Lock()
			old := m.leases[r.FromLeaseUUID]
			m.mu.Unlock()
			err := m.memory.Restore(ctx, r)
			if err == nil {
				m.mu.Lock()
				m.leases[r.FromLeaseUUID] = old
				m.mu.Unlock()
			}
			return err
		}
	}, []string{"Restore/BringsTheLeaseBack", "Restore/IsRetainedInItsTurn"}},
	{"restore asks for the provider always", func(m *mutant) {
		m.restore = func(ctx context.Context, r backend.RestoreRequest) error {
			if r.ProviderUUID == "" {
				return backend.ErrValidation
			}
			return m.memory.Restore(ctx, r)
		}
	}, []string{"Restore/OfAnyProvider"}},
	{"restore asks for no tenant", func(m *mutant) {
		m.restore = func(ctx context.Context, r backend.RestoreRequest) error {
			at(m, r.FromLeaseUUID, func(h *held) { r.Tenant = h.req.Tenant })
			return m.memory.Restore(ctx, r)
		}
	}, []string{"Restore/OfAnotherTenant"}},
	{"what was not restored is gone", func(m *mutant) {
		m.restore = func(ctx context.Context, r backend.RestoreRequest) error {
			err := m.memory.Restore(ctx, r)
			if err != nil && ctx.Err() == nil {
				m.mu.Lock()
				delete(m.leases, r.FromLeaseUUID)
				m.mu.Unlock()
			}
			return err
		}
	}, []string{"Restore/OfAnotherTenant", "Restore/OfAnotherShape", "Restore/OfAnotherProvider", "Restore/OntoALease", "Restore/OfALease"}},
	{"a refused restore has the wrong error", func(m *mutant) {
		m.restore = func(ctx context.Context, r backend.RestoreRequest) error {
			err := m.memory.Restore(ctx, r)
			if err != nil && !errors.Is(err, context.Canceled) {
				err = errOwn
			}
			return err
		}
	}, []string{"Restore/OfNothing", "Restore/OfAnotherTenant", "Restore/OfAnotherShape", "Restore/OntoALease", "Restore/OneOfMany"}},
}

// Calls whose context has ended.
var cancelMutations = []mutation{
	{"calls outlive their context", func(m *mutant) {
		stop := func(ctx context.Context) {
			if ctx.Err() != nil {
				hangs(m)
			}
		}
		m.info = func(ctx context.Context, id string) (*backend.LeaseInfo, error) {
			stop(ctx)
			return m.memory.GetInfo(ctx, id)
		}
		m.get = func(ctx context.Context, id string) (*backend.ProvisionInfo, error) {
			stop(ctx)
			return m.memory.GetProvision(ctx, id)
		}
		m.list = func(ctx context.Context) ([]backend.ProvisionInfo, error) {
			stop(ctx)
			return m.memory.ListProvisions(ctx)
		}
		m.lookup = func(ctx context.Context, ids []string) ([]backend.ProvisionInfo, error) {
			stop(ctx)
			return m.memory.LookupProvisions(ctx, ids)
		}
		m.logs = func(ctx context.Context, id string, n int) (map[string]string, error) {
			stop(ctx)
			return m.memory.GetLogs(ctx, id, n)
		}
		m.releases = func(ctx context.Context, id string) ([]backend.ReleaseInfo, error) {
			stop(ctx)
			return m.memory.GetReleases(ctx, id)
		}
		m.domain = func(ctx context.Context, id string, items []backend.LeaseItem) error {
			stop(ctx)
			return m.memory.ReconcileCustomDomain(ctx, id, items)
		}
		m.load = func(ctx context.Context) (*backend.LoadStats, error) {
			stop(ctx)
			return m.memory.GetLoadStats(ctx)
		}
		m.retentions = func(ctx context.Context) ([]backend.RetainedLease, error) {
			stop(ctx)
			return m.memory.ListRetentions(ctx)
		}
		m.health = func(ctx context.Context) error { stop(ctx); return ctx.Err() }
		m.refresh = func(ctx context.Context) error { stop(ctx); return ctx.Err() }
	}, []string{
		"Cancel/GetInfo", "Cancel/GetProvision", "Cancel/ListProvisions", "Cancel/LookupProvisions", "Cancel/GetLogs", "Cancel/GetReleases",
		"Cancel/ReconcileCustomDomain", "Cancel/GetLoadStats", "Cancel/ListRetentions", "Cancel/Health", "Cancel/RefreshState",
	}},
	{"a call that was given up is an answer", func(m *mutant) {
		m.info = insteadOf(m.memory.GetInfo, context.Canceled, backend.ErrNotProvisioned)
		m.get = insteadOf(m.memory.GetProvision, context.Canceled, backend.ErrNotProvisioned)
		m.list = func(ctx context.Context) ([]backend.ProvisionInfo, error) {
			all, _ := m.memory.ListProvisions(ctx)
			return all, nil
		}
		m.provision = instead(m.memory.Provision, context.Canceled, backend.ErrAlreadyProvisioned)
		m.deprovision = instead(m.memory.Deprovision, context.Canceled, errOwn)
		m.restart = instead(m.memory.Restart, context.Canceled, backend.ErrInvalidState)
		m.update = instead(m.memory.Update, context.Canceled, backend.ErrInvalidState)
		m.restore = instead(m.memory.Restore, context.Canceled, backend.ErrNotRetained)
	}, []string{
		"Cancel/GetInfo", "Cancel/GetProvision", "Cancel/ListProvisions", "Cancel/Provision", "Cancel/Deprovision", "Cancel/Restart", "Cancel/Update", "Cancel/Restore",
	}},
	{"a change that was given up blocks the lease", func(m *mutant) {
		stuck := func(id string) {
			at(m, id, func(h *held) { h.status = backend.ProvisionStatusRestarting })
		}
		m.restart = func(ctx context.Context, r backend.RestartRequest) error {
			if ctx.Err() != nil {
				stuck(r.LeaseUUID)
			}
			return m.memory.Restart(ctx, r)
		}
		m.update = func(ctx context.Context, r backend.UpdateRequest) error {
			if ctx.Err() != nil {
				stuck(r.LeaseUUID)
			}
			return m.memory.Update(ctx, r)
		}
		m.provision = func(ctx context.Context, r backend.ProvisionRequest) error {
			err := m.memory.Provision(ctx, r)
			if errors.Is(err, context.Canceled) {
				m.mu.Lock()
				m.leases[r.LeaseUUID] = &held{req: r, status: backend.ProvisionStatusProvisioning}
				m.mu.Unlock()
			}
			return err
		}
	}, []string{"Cancel/Restart", "Cancel/Update", "Cancel/Provision"}},
}
