package backendtest

import (
	"slices"
	"sync"

	"github.com/berth-cloud/berth/backend"
)

// crowd is how many do something at once.
const crowd = 20

var concurrentCases = []Case{
	{Name: "Concurrent/ManyLeases", run: func(e *env) {
		ids := e.many(e.lease)
		for i, err := range e.atOnce(ids, func(id string) error { return e.Backend.Provision(e.ctx, e.request(id)) }) {
			e.ok(err, "Provision of lease "+ids[i])
		}
		for _, id := range ids {
			e.until(func() bool { return len(e.ended(id)) > 0 })
		}
		e.settle()
		for _, id := range ids {
			if got := e.ended(id); !slices.Equal(got, []backend.CallbackStatus{success}) {
				e.Errorf("the callbacks of lease %s say %v", id, got)
			}
			e.status(id, backend.ProvisionStatusReady)
		}
		for i, err := range e.atOnce(ids, func(id string) error { return e.Backend.Deprovision(e.ctx, id) }) {
			e.ok(err, "Deprovision of lease "+ids[i])
		}
		left := func() (n int) {
			all := e.list()
			for _, id := range ids {
				if _, there := all[id]; there {
					n++
				}
			}
			return n
		}
		if !e.until(func() bool { return left() == 0 }) {
			e.Errorf("%d of %d leases are left", left(), len(ids))
		}
	}},
	{Name: "Concurrent/OneLease", run: func(e *env) {
		id := e.lease()
		accepted := e.accepted(id, func(id string) error { return e.Backend.Provision(e.ctx, e.request(id)) }, backend.ErrAlreadyProvisioned)
		if accepted != 1 {
			e.Errorf("%d of %d who asked for one lease were accepted", accepted, crowd)
		}
		e.ends(id, success)
	}},
	{Name: "Concurrent/OneRestart", Needs: []Feature{Restart}, run: func(e *env) {
		id := e.ready()
		accepted := e.accepted(id, e.restart, backend.ErrInvalidState)
		e.ends(id, slices.Repeat([]backend.CallbackStatus{success}, 1+accepted)...)
		e.serves(id)
	}},
	{Name: "Concurrent/OneDeprovision", run: func(e *env) {
		id := e.lease()
		e.provision(e.request(id))
		for _, err := range e.atOnce(slices.Repeat([]string{id}, crowd), func(id string) error { return e.Backend.Deprovision(e.ctx, id) }) {
			e.ok(err, "Deprovision by many")
		}
		e.preempts(id)
	}},
}

// many is a crowd of leases.
func (e *env) many(of func() string) []string {
	out := make([]string, crowd)
	for i := range out {
		out[i] = of()
	}
	return out
}

// atOnce does something to each at once.
func (e *env) atOnce(ids []string, do func(id string) error) []error {
	errs := make([]error, len(ids))
	var all sync.WaitGroup
	for i, id := range ids {
		all.Go(func() { errs[i] = do(id) })
	}
	all.Wait()
	return errs
}

// accepted is how many of a crowd do it to one lease; the others have an error of
// the kind.
func (e *env) accepted(id string, do func(id string) error, kind error) (n int) {
	e.Helper()
	for _, err := range e.atOnce(slices.Repeat([]string{id}, crowd), do) {
		if err == nil {
			n++
			continue
		}
		e.is(err, "one of many", kind)
	}
	return n
}
