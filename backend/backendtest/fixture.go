package backendtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/backend"
)

// Fixture is a backend under the suite, with what the suite needs around it. What
// is optional says so; cases that need it are skipped without.
type Fixture struct {
	Backend backend.Backend

	// Lacks are the features that the backend has not.
	Lacks []Feature

	// Callbacks has every callback that the backend sends to CallbackURL.
	Callbacks   *Callbacks
	CallbackURL string

	// SKU has room for 25 leases with one of it each.
	SKU string

	// SmallerSKU has less disk than SKU, and room for one. Optional.
	SmallerSKU string

	// Manifest and Other come up on SKU, and differ.
	Manifest, Other []byte

	// Broken is accepted and then never comes up. Optional.
	Broken []byte

	// Invalid is refused. Needed with Validation.
	Invalid []byte

	// UnknownSKU is one that the backend has not. Needed with Validation.
	UnknownSKU string

	// Huge is more than there is room for, whatever else is there. Optional.
	Huge []backend.LeaseItem

	// Domain may be the custom domain of a lease. Needed with CustomDomains.
	Domain string

	// Break makes a lease that is ready fail, by itself and soon. Optional.
	Break func(leaseUUID string)

	// Wait passes time, virtual or real, until cond holds; false when it did not
	// within a bound of the fixture's. Between two calls of cond a callback that is
	// due has time to come. Optional: Poll(5 ms, 10 s).
	Wait func(cond func() bool) bool

	// Parallel lets cases run at the same time, each on a fixture of its own.
	Parallel bool

	// Patience bounds one case; zero is DefaultPatience.
	Patience time.Duration
}

// DefaultPatience bounds one case.
const DefaultPatience = time.Minute

func (f Fixture) has(feature Feature) bool { return !slices.Contains(f.Lacks, feature) }

// Poll is a Fixture.Wait that asks at an interval, for at most limit.
func Poll(interval, limit time.Duration) func(cond func() bool) bool {
	return func(cond func() bool) bool {
		end := time.NewTimer(limit)
		defer end.Stop()
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for !cond() {
			select {
			case <-tick.C:
			case <-end.C:
				return cond()
			}
		}
		return true
	}
}

// Callbacks has what a backend has sent. Many may use it at once.
type Callbacks struct {
	mu  sync.Mutex
	all []backend.CallbackPayload
}

// Record adds a callback.
func (c *Callbacks) Record(p backend.CallbackPayload) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, p)
}

// Deliver is Record in the form in which package callback wants it.
func (c *Callbacks) Deliver(_ context.Context, p backend.CallbackPayload) error {
	c.Record(p)
	return nil
}

// Of are the callbacks of a lease, in the order in which they came.
func (c *Callbacks) Of(leaseUUID string) []backend.CallbackPayload {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []backend.CallbackPayload
	for _, p := range c.all {
		if p.LeaseUUID == leaseUUID {
			out = append(out, p)
		}
	}
	return out
}
