package backendtest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/backend"
)

var errOwn = errors.New("something went wrong")

// hangs is a call that outlives its context.
func hangs(m *mutant) { <-m.over }

// say gives a lease another callback than the one that is due.
func say(m *mutant, id string, status backend.CallbackStatus) {
	m.tell(backend.CallbackPayload{LeaseUUID: id, Status: status, Error: "late"})
}

// at changes what is in a lease, if there is one.
func at(m *mutant, id string, change func(*held)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.leases[id]; h != nil {
		change(h)
	}
}

// after does something once a method of the memory succeeded.
func after[R any](method func(context.Context, R) error, do func(R)) func(context.Context, R) error {
	return func(ctx context.Context, r R) error {
		err := method(ctx, r)
		if err == nil {
			do(r)
		}
		return err
	}
}

// instead answers with another error where the memory has this one.
func instead[R any](method func(context.Context, R) error, was, is error) func(context.Context, R) error {
	return func(ctx context.Context, r R) error {
		if err := method(ctx, r); err == nil || !errors.Is(err, was) {
			return err
		}
		return is
	}
}

// insteadOf is that for a method with a value.
func insteadOf[R, V any](method func(context.Context, R) (V, error), was, is error) func(context.Context, R) (V, error) {
	return func(ctx context.Context, r R) (V, error) {
		v, err := method(ctx, r)
		if errors.Is(err, was) {
			err = is
		}
		return v, err
	}
}

func mutations() []mutation {
	return slices.Concat(provisionMutations, lookMutations, changeMutations, retentionMutations, cancelMutations)
}

var provisionMutations = []mutation{
	{"tells nobody", func(m *mutant) { m.tell = func(backend.CallbackPayload) {} }, []string{
		"Provision/ReadyWithOneCallback", "Restart/ReadyWithOneCallback", "Update/ReadyWithOneCallback", "Concurrent/ManyLeases", "Deprovision/TellsOnce",
	}},
	{"tells twice", func(m *mutant) {
		tell := m.tell
		m.tell = func(p backend.CallbackPayload) { tell(p); tell(p) }
	}, []string{"Provision/ReadyWithOneCallback", "Provision/Broken", "Deprovision/TellsOnce", "Deprovision/ThenAnew", "Concurrent/ManyLeases", "Concurrent/OneLease", "Restore/BringsTheLeaseBack", "CustomDomain/Unchanged", "Lookup/LeavesOutWhatIsNotThere"}},
	{"keeps the caller's items", func(m *mutant) {
		m.provision = func(ctx context.Context, r backend.ProvisionRequest) error {
			items := r.Items
			err := m.memory.Provision(ctx, r)
			at(m, r.LeaseUUID, func(h *held) { h.req.Items = items })
			return err
		}
	}, []string{"Provision/IsWhatWasAsked"}},
	{"forgets the tenant", func(m *mutant) {
		m.provision = func(ctx context.Context, r backend.ProvisionRequest) error {
			r.Tenant = ""
			return m.memory.Provision(ctx, r)
		}
	}, []string{"Provision/IsWhatWasAsked", "Retention/WhatWasReadyIsKept"}},
	{"a repeated lease is a success", func(m *mutant) {
		m.provision = instead(m.memory.Provision, backend.ErrAlreadyProvisioned, nil)
	}, []string{"Provision/Repeated", "Concurrent/OneLease"}},
	{"a failed lease cannot begin again", func(m *mutant) {
		m.provision = func(ctx context.Context, r backend.ProvisionRequest) error {
			if p, err := m.memory.GetProvision(ctx, r.LeaseUUID); err == nil && p.Status == backend.ProvisionStatusFailed {
				return backend.ErrAlreadyProvisioned
			}
			return m.memory.Provision(ctx, r)
		}
	}, []string{"Provision/AfterFailure", "Provision/Broken"}},
	{"the words of a callback are endless", func(m *mutant) {
		tell := m.tell
		m.tell = func(p backend.CallbackPayload) {
			p.Error += strings.Repeat("x", 300)
			tell(p)
		}
	}, []string{"Provision/Broken", "Update/BrokenLeavesTheOldOne"}},
	{"an unknown SKU has no code", func(m *mutant) {
		m.provision = instead(m.memory.Provision, backend.ErrUnknownSKU, backend.ErrValidation)
	}, []string{"Provision/UnknownSKU"}},
	{"an invalid manifest has no code", func(m *mutant) {
		m.provision = instead(m.memory.Provision, backend.ErrInvalidManifest, backend.ErrValidation)
		m.update = instead(m.memory.Update, backend.ErrInvalidManifest, backend.ErrValidation)
	}, []string{"Provision/InvalidManifest", "Provision/InvalidItems", "Update/Invalid"}},
	{"no room is an error of its own", func(m *mutant) {
		m.provision = instead(m.memory.Provision, backend.ErrInsufficientResources, errOwn)
	}, []string{"Provision/NoRoom"}},
	{"what is refused is there", func(m *mutant) {
		m.provision = func(ctx context.Context, r backend.ProvisionRequest) error {
			err := m.memory.Provision(ctx, r)
			if errors.Is(err, backend.ErrInsufficientResources) || errors.Is(err, backend.ErrValidation) && len(r.Items) == 1 {
				m.mu.Lock()
				m.leases[r.LeaseUUID] = &held{req: r, status: backend.ProvisionStatusFailed}
				m.mu.Unlock()
			}
			return err
		}
	}, []string{"Provision/UnknownSKU", "Provision/NoRoom", "Load/RefusedTakesNothing"}},
	{"one deprovision takes all", func(m *mutant) {
		m.deprovision = after(m.memory.Deprovision, func(string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			clear(m.leases)
		})
	}, []string{"Deprovision/LeavesNothing"}},
	{"deprovision of nothing is an error", func(m *mutant) {
		m.deprovision = func(ctx context.Context, id string) error {
			if _, err := m.memory.GetInfo(ctx, id); errors.Is(err, backend.ErrNotProvisioned) {
				if p, _ := m.memory.GetProvision(ctx, id); p == nil || p.Status == backend.ProvisionStatusRetained {
					return err
				}
			}
			return m.memory.Deprovision(ctx, id)
		}
	}, []string{"Deprovision/Repeated", "Unknown/Deprovision", "Concurrent/OneDeprovision"}},
	{"a stale callback comes after deprovision", func(m *mutant) {
		m.deprovision = after(m.memory.Deprovision, func(id string) {
			time.AfterFunc(15*time.Millisecond, func() { say(m, id, backend.CallbackStatusFailed) })
		})
	}, []string{
		"Deprovision/PreemptsProvision", "Deprovision/PreemptsRestart", "Deprovision/PreemptsUpdate", "Deprovision/AfterFailure", "Concurrent/OneDeprovision",
	}},
	{"a lease that is gone is ready", func(m *mutant) {
		m.get = func(ctx context.Context, id string) (*backend.ProvisionInfo, error) {
			p, err := m.memory.GetProvision(ctx, id)
			if err == nil && p.Status == backend.ProvisionStatusRetained {
				p.Status = backend.ProvisionStatusReady
			}
			return p, err
		}
	}, []string{"Deprovision/LeavesNothing", "Deprovision/ThenAnew", "Retention/WhatWasReadyIsKept"}},
	{"a burst is too much", func(m *mutant) {
		m.provision = func(ctx context.Context, r backend.ProvisionRequest) error {
			if all, _ := m.memory.ListProvisions(ctx); len(all) > 10 {
				return errOwn
			}
			return m.memory.Provision(ctx, r)
		}
	}, []string{"Concurrent/ManyLeases"}},
}

var lookMutations = []mutation{
	{"info comes early", func(m *mutant) {
		m.info = func(ctx context.Context, _ string) (*backend.LeaseInfo, error) {
			return &backend.LeaseInfo{}, ctx.Err()
		}
	}, []string{"Info/OnlyWhenReady", "Info/NotAfterFailure", "Unknown/Info", "Unknown/Lookup"}},
	{"unknown leases have errors of their own", func(m *mutant) {
		unknown := backend.ErrNotProvisioned
		m.info, m.get = insteadOf(m.memory.GetInfo, unknown, errOwn), insteadOf(m.memory.GetProvision, unknown, errOwn)
		m.releases = insteadOf(m.memory.GetReleases, unknown, errOwn)
		m.restart, m.update = instead(m.memory.Restart, unknown, errOwn), instead(m.memory.Update, unknown, errOwn)
		m.logs = func(ctx context.Context, id string, tail int) (map[string]string, error) {
			logs, err := m.memory.GetLogs(ctx, id, tail)
			if err != nil {
				err = errOwn
			}
			return logs, err
		}
	}, []string{"Unknown/Info", "Unknown/Provision", "Unknown/Logs", "Unknown/Releases", "Unknown/Restart", "Unknown/Update"}},
	{"a lookup makes up what is not there", func(m *mutant) {
		m.lookup = func(ctx context.Context, ids []string) ([]backend.ProvisionInfo, error) {
			out := make([]backend.ProvisionInfo, len(ids))
			for i, id := range ids {
				out[i].LeaseUUID = id
			}
			return out, ctx.Err()
		}
	}, []string{"Unknown/Lookup", "Unknown/CustomDomain", "Lookup/LeavesOutWhatIsNotThere", "Lookup/Bounded", "List/EqualToLookupAndGet"}},
	{"a lookup has no bound", func(m *mutant) {
		m.lookup = func(ctx context.Context, ids []string) ([]backend.ProvisionInfo, error) {
			return m.memory.LookupProvisions(ctx, ids[:min(len(ids), backend.MaxLookupUUIDs)])
		}
	}, []string{"Lookup/Bounded"}},
	{"an unknown lease has no domains", func(m *mutant) {
		m.domain = func(ctx context.Context, id string, _ []backend.LeaseItem) error {
			_, err := m.memory.GetInfo(ctx, id)
			return err
		}
	}, []string{"Unknown/CustomDomain", "CustomDomain/NotActive", "CustomDomain/SetAndRemoved"}},
	{"the list ends early", func(m *mutant) {
		m.list = func(ctx context.Context) ([]backend.ProvisionInfo, error) {
			all, err := m.memory.ListProvisions(ctx)
			return all[:min(len(all), 3)], err
		}
	}, []string{"List/Complete", "List/Pages"}},
	{"the list has no items", func(m *mutant) {
		m.list = func(ctx context.Context) ([]backend.ProvisionInfo, error) {
			all, err := m.memory.ListProvisions(ctx)
			for i := range all {
				all[i].Items = nil
			}
			return all, err
		}
	}, []string{"List/EqualToLookupAndGet"}},
	{"pages skip one", func(m *mutant) {
		m.page = func(ctx context.Context, after string, limit int) ([]backend.ProvisionInfo, string, error) {
			page, next, err := m.memory.PageProvisions(ctx, after, limit)
			return page[1:], next, err
		}
		m.pageRetention = func(ctx context.Context, after string, limit int) ([]backend.RetainedLease, string, error) {
			page, next, err := m.memory.PageRetentions(ctx, after, limit)
			return page[1:], next, err
		}
	}, []string{"List/Pages", "Retention/Pages"}},
	{"it is never healthy", func(m *mutant) { m.health = func(context.Context) error { return errOwn } }, []string{"Health/Healthy"}},
	{"it has no name", func(m *mutant) { m.name = func() string { return "" } }, []string{"Name/IsConstant"}},
	{"a refresh forgets what is on its way", func(m *mutant) {
		m.refresh = func(ctx context.Context) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			for id, h := range m.leases {
				if h.work != nil {
					h.work.Stop()
					delete(m.leases, id)
				}
			}
			return ctx.Err()
		}
	}, []string{"Refresh/LosesNothing"}},
	{"logs are of one container, and whole", func(m *mutant) {
		m.logs = func(ctx context.Context, id string, _ int) (map[string]string, error) {
			logs, err := m.memory.GetLogs(ctx, id, 3)
			return map[string]string{"app/0": logs["app/0"]}, err
		}
	}, []string{"Logs/ByContainer", "Logs/Tail"}},
	{"the load never falls", func(m *mutant) {
		peak := 0
		m.load = func(ctx context.Context) (*backend.LoadStats, error) {
			load, err := m.memory.GetLoadStats(ctx)
			peak = max(peak, load.ActiveContainers)
			load.ActiveContainers = peak
			return load, err
		}
	}, []string{"Load/CountsWhatIsThere"}},
}

var changeMutations = []mutation{
	{"restart and update are quick lies", func(m *mutant) {
		m.restart = func(context.Context, backend.RestartRequest) error { return nil }
		m.update = func(context.Context, backend.UpdateRequest) error { return nil }
	}, []string{
		"Restart/ReadyWithOneCallback", "Restart/OneEndForEach", "Restart/WhileProvisioning", "Restart/KeepsTheManifest", "Restart/FailCountStays", "Unknown/Restart",
		"Update/ReadyWithOneCallback", "Update/BrokenLeavesTheOldOne", "Update/OneEndForEach", "Update/WhileProvisioning", "Update/Invalid", "Unknown/Update",
		"Releases/Versions", "Releases/BrokenUpdate", "Releases/RefusedLeavesNone", "Releases/RefusedRestartLeavesNone", "Concurrent/OneRestart",
	}},
	{"a second while one is under way is swallowed", func(m *mutant) {
		m.restart = instead(m.memory.Restart, backend.ErrInvalidState, nil)
		m.update = instead(m.memory.Update, backend.ErrInvalidState, nil)
	}, []string{"Restart/OneEndForEach", "Restart/WhileProvisioning", "Update/OneEndForEach", "Update/WhileProvisioning", "Concurrent/OneRestart"}},
	{"a restart loses the status of its lease", func(m *mutant) {
		m.restart = after(m.memory.Restart, func(r backend.RestartRequest) {
			at(m, r.LeaseUUID, func(h *held) { h.status = backend.ProvisionStatusProvisioning })
		})
	}, []string{"Restart/ReadyWithOneCallback"}},
	{"a restart counts as a failure", func(m *mutant) {
		m.get = func(ctx context.Context, id string) (*backend.ProvisionInfo, error) {
			p, err := m.memory.GetProvision(ctx, id)
			if len(m.callbacks.Of(id)) > 1 {
				p.FailCount++
			}
			return p, err
		}
	}, []string{"Restart/FailCountStays", "Provision/AfterFailure"}},
	{"a restart takes another manifest", func(m *mutant) {
		m.restart = func(ctx context.Context, r backend.RestartRequest) error {
			return m.memory.change(ctx, r.LeaseUUID, backend.ProvisionStatusRestarting, []byte(other))
		}
	}, []string{"Restart/KeepsTheManifest", "Releases/RefusedRestartLeavesNone"}},
	{"a broken update takes the old one down", func(m *mutant) {
		tell := m.tell
		m.tell = func(p backend.CallbackPayload) {
			if h := m.leases[p.LeaseUUID]; h != nil && p.Status == backend.CallbackStatusFailed {
				h.status = backend.ProvisionStatusFailed
			}
			tell(p)
		}
	}, []string{"Update/BrokenLeavesTheOldOne"}},
	{"a broken update is the active release", func(m *mutant) {
		m.releases = func(ctx context.Context, id string) ([]backend.ReleaseInfo, error) {
			all, err := m.memory.GetReleases(ctx, id)
			for i := range all {
				all[i].Status = backend.ReleaseStatusSuperseded
			}
			if len(all) > 0 {
				all[len(all)-1].Status = backend.ReleaseStatusActive
			}
			return all, err
		}
	}, []string{"Releases/BrokenUpdate"}},
	{"releases have no versions", func(m *mutant) {
		m.releases = func(ctx context.Context, id string) ([]backend.ReleaseInfo, error) {
			all, err := m.memory.GetReleases(ctx, id)
			for i := range all {
				all[i].Version = 1
			}
			return all, err
		}
	}, []string{"Releases/Versions"}},
	{"what is refused leaves a release", func(m *mutant) {
		stray := func(id string) {
			at(m, id, func(h *held) {
				h.releases = append(h.releases, backend.ReleaseInfo{Version: len(h.releases) + 1, Status: backend.ReleaseStatusDeploying, CreatedAt: time.Now()})
			})
		}
		m.update = func(ctx context.Context, r backend.UpdateRequest) error {
			err := m.memory.Update(ctx, r)
			if err != nil {
				stray(r.LeaseUUID)
			}
			return err
		}
		m.restart = func(ctx context.Context, r backend.RestartRequest) error {
			err := m.memory.Restart(ctx, r)
			if err != nil {
				stray(r.LeaseUUID)
			}
			return err
		}
	}, []string{"Releases/RefusedLeavesNone", "Releases/RefusedRestartLeavesNone"}},
	{"domains are not kept", func(m *mutant) {
		m.domain = func(ctx context.Context, _ string, _ []backend.LeaseItem) error { return ctx.Err() }
	}, []string{"CustomDomain/SetAndRemoved"}},
	{"a new domain has new containers", func(m *mutant) {
		changed := map[string]bool{}
		m.domain = func(ctx context.Context, id string, items []backend.LeaseItem) error {
			changed[id] = true
			return m.memory.ReconcileCustomDomain(ctx, id, items)
		}
		m.info = func(ctx context.Context, id string) (*backend.LeaseInfo, error) {
			info, err := m.memory.GetInfo(ctx, id)
			if err == nil && changed[id] {
				info.Services = map[string]backend.LeaseService{"app": {Instances: []backend.LeaseInstance{{ContainerID: "anew"}}}}
			}
			return info, err
		}
	}, []string{"CustomDomain/ChangesNothingElse"}},
	{"an item without a name has no domain", func(m *mutant) {
		m.domain = func(ctx context.Context, id string, items []backend.LeaseItem) error {
			if len(items) == 1 && items[0].ServiceName == "" {
				return ctx.Err()
			}
			return m.memory.ReconcileCustomDomain(ctx, id, items)
		}
	}, []string{"CustomDomain/UnnamedItem"}},
	{"the domains of a provision are forgotten", func(m *mutant) {
		m.provision = func(ctx context.Context, r backend.ProvisionRequest) error {
			r.Items = slices.Clone(r.Items)
			for i := range r.Items {
				r.Items[i].CustomDomain = ""
			}
			return m.memory.Provision(ctx, r)
		}
	}, []string{"CustomDomain/OfTheProvision"}},
	{"domains restart the lease each time", func(m *mutant) {
		m.domain = func(ctx context.Context, id string, _ []backend.LeaseItem) error {
			return m.memory.Restart(ctx, backend.RestartRequest{LeaseUUID: id})
		}
	}, []string{"CustomDomain/Unchanged", "CustomDomain/NotActive"}},
}
