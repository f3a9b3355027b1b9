package backendtest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/berth-cloud/berth/backend"
)

// env is one run of one case.
type env struct {
	T
	Fixture
	ctx      context.Context
	tenant   string
	provider string

	mu     sync.Mutex
	leases []string
}

func newEnv(ctx context.Context, t T, fx Fixture) *env {
	if fx.Wait == nil {
		fx.Wait = Poll(5*time.Millisecond, 10*time.Second)
	}
	e := &env{T: t, Fixture: fx, ctx: ctx, tenant: "tenant-" + uuid.NewString()[:8], provider: uuid.NewString()}
	t.Cleanup(e.leave)
	return e
}

// leave gives up what the case has made.
func (e *env) leave() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), 10*time.Second)
	defer cancel()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range e.leases {
		if err := e.Backend.Deprovision(ctx, id); err != nil {
			e.Logf("lease %s is left behind: %v", id, err)
		}
	}
}

// lease is the UUID of one that nobody knows yet.
func (e *env) lease() string {
	id := uuid.Must(uuid.NewV7()).String()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.leases = append(e.leases, id)
	return id
}

// request asks for one of the SKU.
func (e *env) request(id string) backend.ProvisionRequest {
	return backend.ProvisionRequest{
		LeaseUUID: id, Tenant: e.tenant, ProviderUUID: e.provider, CallbackURL: e.CallbackURL,
		Items:   []backend.LeaseItem{{SKU: e.SKU, Quantity: 1, ServiceName: "app"}},
		Payload: slices.Clone(e.Manifest),
	}
}

// provision accepts a lease.
func (e *env) provision(req backend.ProvisionRequest) {
	e.Helper()
	if err := e.Backend.Provision(e.ctx, req); err != nil {
		e.Fatalf("Provision of lease %s: %v", req.LeaseUUID, err)
	}
}

// ready is a new lease that is.
func (e *env) ready() string {
	e.Helper()
	id := e.lease()
	e.provision(e.request(id))
	e.ends(id, backend.CallbackStatusSuccess)
	return id
}

// ended are the callbacks of a lease that end an operation.
func (e *env) ended(id string) []backend.CallbackStatus {
	var out []backend.CallbackStatus
	for _, p := range e.Callbacks.Of(id) {
		if p.Status != backend.CallbackStatusDeprovisioned {
			out = append(out, p.Status)
		}
	}
	return out
}

// ends waits until the operations of a lease have ended so, in this order, and then
// whether another end comes.
func (e *env) ends(id string, want ...backend.CallbackStatus) {
	e.Helper()
	e.until(func() bool { return len(e.ended(id)) >= len(want) })
	e.settle()
	if got := e.ended(id); !slices.Equal(got, want) {
		e.Fatalf("the callbacks of lease %s say %v, want %v", id, got, want)
	}
}

// until waits for cond; that it does not come is for the caller to see.
func (e *env) until(cond func() bool) bool {
	met := false
	e.Wait(func() bool { met = cond(); return met || e.ctx.Err() != nil })
	return met
}

// settlePolls are how often settle looks.
const settlePolls = 10

// settle lets a little time pass in which nothing shall happen.
func (e *env) settle() {
	polls := 0
	e.Wait(func() bool { polls++; return polls > settlePolls })
}

// get is a lease that must be there.
func (e *env) get(id string) *backend.ProvisionInfo {
	e.Helper()
	p, err := e.Backend.GetProvision(e.ctx, id)
	if err != nil || p == nil {
		e.Fatalf("GetProvision of lease %s: %v, %v", id, p, err)
	}
	return p
}

// status fails when a lease has another.
func (e *env) status(id string, want ...backend.ProvisionStatus) {
	e.Helper()
	if p := e.get(id); !slices.Contains(want, p.Status) {
		e.Errorf("lease %s is %s, want one of %v", id, p.Status, want)
	}
}

// is fails when an error is not of a kind.
func (e *env) is(err error, what string, kinds ...error) {
	e.Helper()
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return
		}
	}
	e.Errorf("%s is %v, want %v", what, err, kinds)
}

// ok fails for an error.
func (e *env) ok(err error, what string) {
	e.Helper()
	if err != nil {
		e.Fatalf("%s: %v", what, err)
	}
}

// list is every lease, by its UUID.
func (e *env) list() map[string]backend.ProvisionInfo {
	e.Helper()
	all, err := e.Backend.ListProvisions(e.ctx)
	e.ok(err, "ListProvisions")
	out := make(map[string]backend.ProvisionInfo, len(all))
	for _, p := range all {
		if _, twice := out[p.LeaseUUID]; twice {
			e.Errorf("ListProvisions has lease %s twice", p.LeaseUUID)
		}
		out[p.LeaseUUID] = p
	}
	return out
}

// isNowhere fails when a lease is anywhere among those that are there.
func (e *env) isNowhere(id string) {
	e.Helper()
	if p, there := e.list()[id]; there {
		e.Errorf("ListProvisions has lease %s as %s", id, p.Status)
	}
	found, err := e.Backend.LookupProvisions(e.ctx, []string{id})
	e.ok(err, "LookupProvisions")
	if len(found) > 0 {
		e.Errorf("LookupProvisions has lease %s as %s", id, found[0].Status)
	}
	_, err = e.Backend.GetInfo(e.ctx, id)
	e.is(err, "GetInfo of a lease that is not there", backend.ErrNotProvisioned)
}

// broken makes a ready lease fail.
func (e *env) broken(id string) {
	e.Helper()
	if e.Break == nil {
		e.Skipf("the fixture cannot break a lease")
	}
	e.Break(id)
	if !e.until(func() bool { return e.get(id).Status == backend.ProvisionStatusFailed }) {
		e.Fatalf("lease %s was broken and is %s", id, e.get(id).Status)
	}
	e.settle()
}

func (e *env) restart(id string) error {
	return e.Backend.Restart(e.ctx, backend.RestartRequest{LeaseUUID: id, CallbackURL: e.CallbackURL})
}

func (e *env) update(id string, manifest []byte) error {
	return e.Backend.Update(e.ctx, backend.UpdateRequest{LeaseUUID: id, CallbackURL: e.CallbackURL, Payload: slices.Clone(manifest)})
}
