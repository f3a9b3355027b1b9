package backendtest_test

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/backendtest"
)

// mutation is the backend in memory with one rule broken.
type mutation struct {
	name   string
	break_ func(m *mutant)
	// fails are the cases that must notice.
	fails []string
}

// mutant is a backend whose methods a mutation replaces. What is nil stays.
type mutant struct {
	*memory
	over chan struct{} // closed when the case is

	provision     func(context.Context, backend.ProvisionRequest) error
	deprovision   func(context.Context, string) error
	restart       func(context.Context, backend.RestartRequest) error
	update        func(context.Context, backend.UpdateRequest) error
	restore       func(context.Context, backend.RestoreRequest) error
	domain        func(context.Context, string, []backend.LeaseItem) error
	info          func(context.Context, string) (*backend.LeaseInfo, error)
	get           func(context.Context, string) (*backend.ProvisionInfo, error)
	list          func(context.Context) ([]backend.ProvisionInfo, error)
	lookup        func(context.Context, []string) ([]backend.ProvisionInfo, error)
	page          func(context.Context, string, int) ([]backend.ProvisionInfo, string, error)
	retentions    func(context.Context) ([]backend.RetainedLease, error)
	pageRetention func(context.Context, string, int) ([]backend.RetainedLease, string, error)
	logs          func(context.Context, string, int) (map[string]string, error)
	releases      func(context.Context, string) ([]backend.ReleaseInfo, error)
	load          func(context.Context) (*backend.LoadStats, error)
	health        func(context.Context) error
	refresh       func(context.Context) error
	name          func() string
}

// or is the first function that there is.
func or[F any](f, otherwise F) F {
	if reflect.ValueOf(f).IsNil() {
		return otherwise
	}
	return f
}

func (m *mutant) Provision(ctx context.Context, r backend.ProvisionRequest) error {
	return or(m.provision, m.memory.Provision)(ctx, r)
}

func (m *mutant) Deprovision(ctx context.Context, id string) error {
	return or(m.deprovision, m.memory.Deprovision)(ctx, id)
}

func (m *mutant) Restart(ctx context.Context, r backend.RestartRequest) error {
	return or(m.restart, m.memory.Restart)(ctx, r)
}

func (m *mutant) Update(ctx context.Context, r backend.UpdateRequest) error {
	return or(m.update, m.memory.Update)(ctx, r)
}

func (m *mutant) Restore(ctx context.Context, r backend.RestoreRequest) error {
	return or(m.restore, m.memory.Restore)(ctx, r)
}

func (m *mutant) ReconcileCustomDomain(ctx context.Context, id string, items []backend.LeaseItem) error {
	return or(m.domain, m.memory.ReconcileCustomDomain)(ctx, id, items)
}

func (m *mutant) GetInfo(ctx context.Context, id string) (*backend.LeaseInfo, error) {
	return or(m.info, m.memory.GetInfo)(ctx, id)
}

func (m *mutant) GetProvision(ctx context.Context, id string) (*backend.ProvisionInfo, error) {
	return or(m.get, m.memory.GetProvision)(ctx, id)
}

func (m *mutant) ListProvisions(ctx context.Context) ([]backend.ProvisionInfo, error) {
	return or(m.list, m.memory.ListProvisions)(ctx)
}

func (m *mutant) LookupProvisions(ctx context.Context, ids []string) ([]backend.ProvisionInfo, error) {
	return or(m.lookup, m.memory.LookupProvisions)(ctx, ids)
}

func (m *mutant) PageProvisions(ctx context.Context, after string, limit int) ([]backend.ProvisionInfo, string, error) {
	return or(m.page, m.memory.PageProvisions)(ctx, after, limit)
}

func (m *mutant) ListRetentions(ctx context.Context) ([]backend.RetainedLease, error) {
	return or(m.retentions, m.memory.ListRetentions)(ctx)
}

func (m *mutant) PageRetentions(ctx context.Context, after string, limit int) ([]backend.RetainedLease, string, error) {
	return or(m.pageRetention, m.memory.PageRetentions)(ctx, after, limit)
}

func (m *mutant) GetLogs(ctx context.Context, id string, tail int) (map[string]string, error) {
	return or(m.logs, m.memory.GetLogs)(ctx, id, tail)
}

func (m *mutant) GetReleases(ctx context.Context, id string) ([]backend.ReleaseInfo, error) {
	return or(m.releases, m.memory.GetReleases)(ctx, id)
}

func (m *mutant) GetLoadStats(ctx context.Context) (*backend.LoadStats, error) {
	return or(m.load, m.memory.GetLoadStats)(ctx)
}

func (m *mutant) Health(ctx context.Context) error { return or(m.health, m.memory.Health)(ctx) }
func (m *mutant) RefreshState(ctx context.Context) error {
	return or(m.refresh, m.memory.RefreshState)(ctx)
}
func (m *mutant) Name() string { return or(m.name, m.memory.Name)() }

// inBubble runs a case on a mutant, on virtual time.
func inBubble(t *testing.T, c backendtest.Case, mutate func(*mutant)) (r *recorder) {
	synctest.Test(t, func(t *testing.T) {
		m := &mutant{memory: newMemory(20 * time.Millisecond), over: make(chan struct{})}
		if mutate != nil {
			mutate(m)
		}
		fx := m.fixture()
		fx.Backend = m
		fx.Wait = backendtest.Poll(10*time.Millisecond, 10*time.Second)
		r = record(t.Context(), c, fx)
		close(m.over)
		<-time.After(time.Minute) // for what is under way
	})
	return r
}

func find(name string) (backendtest.Case, bool) {
	for _, c := range backendtest.Cases() {
		if c.Name == name {
			return c, true
		}
	}
	return backendtest.Case{}, false
}

func TestEveryCaseFailsSomeBrokenBackend(t *testing.T) {
	noticed := map[string]bool{}
	for _, mutation := range mutations() {
		for _, name := range mutation.fails {
			noticed[name] = true
			t.Run(mutation.name+"/"+name, func(t *testing.T) {
				c, ok := find(name)
				if !ok {
					t.Fatalf("there is no case %s", name)
				}
				if r := inBubble(t, c, mutation.break_); !r.failed {
					t.Errorf("the case did not notice: %s", r)
				} else {
					t.Logf("%.200s", r.said[0])
				}
			})
		}
	}
	seen := map[string]bool{}
	for _, c := range backendtest.Cases() {
		if !noticed[c.Name] {
			t.Errorf("no broken backend fails %s", c.Name)
		}
		if seen[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		seen[c.Name] = true
	}
}

func TestAGoodBackendPassesUnderARecorder(t *testing.T) {
	for _, c := range backendtest.Cases() {
		if r := inBubble(t, c, nil); r.failed || r.skipped {
			t.Errorf("%s went %s", c.Name, r)
		}
	}
}

func TestWhatAFixtureLacksIsSkipped(t *testing.T) {
	for _, c := range backendtest.Cases() {
		for _, need := range c.Needs {
			fx := newMemory(time.Millisecond).fixture()
			fx.Lacks = []backendtest.Feature{need}
			if r := record(t.Context(), c, fx); !r.skipped || r.failed {
				t.Errorf("%s without %q went %s", c.Name, need, r)
			}
		}
	}
}
