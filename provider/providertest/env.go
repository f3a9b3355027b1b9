package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// env is one running case.
type env struct {
	T
	Fixture
	ctx  context.Context
	made []id.ID
	kept []provider.KeptVolume // by what the case calls them
	due  map[id.ID]time.Time   // when the next Step is, where the fixture has a clock
	// lastStep is what the last Step that failed said.
	lastStep error
}

// cleanup bounds what follows a case.
const cleanup = 30 * time.Second

func newEnv(ctx context.Context, t T, fx Fixture) *env {
	if fx.Images.Program == "" {
		fx.Images.Program = "/program"
	}
	e := &env{T: t, Fixture: fx, ctx: ctx, due: map[id.ID]time.Time{}}
	t.Cleanup(e.removeAll)
	return e
}

// removeAll ends every case: nothing that it made stays.
func (e *env) removeAll() {
	ctx, cancel := context.WithTimeout(context.Background(), cleanup)
	defer cancel()
	e.ctx = ctx
	e.removeThem(e.made)
	e.removeKept()
}

// removeThem deprovisions instances at the same time, and then looks at each.
func (e *env) removeThem(instances []id.ID) {
	e.Helper()
	if len(instances) > 1 {
		var all sync.WaitGroup
		for _, instance := range instances {
			all.Go(func() { _ = e.Provider.Deprovision(e.ctx, instance) }) // remove repeats it
		}
		all.Wait()
	}
	for _, instance := range instances {
		e.remove(instance)
	}
}

// remove deprovisions until nothing is left.
func (e *env) remove(instance id.ID) {
	e.Helper()
	if err := e.Provider.Deprovision(e.ctx, instance); err != nil {
		e.Errorf("Deprovision: %v", err)
		return
	}
	if !e.gone(instance) {
		e.Errorf("Deprovision returned, and the instance is still known")
	}
	if e.Leftovers != nil {
		if left := e.Leftovers(instance); len(left) > 0 {
			e.Errorf("after Deprovision there is still %s", strings.Join(left, ", "))
		}
	}
}

// gone waits until the provider knows the instance no longer.
func (e *env) gone(instance id.ID) bool {
	return e.Wait(func() bool {
		e.step()
		_, err := e.Provider.Status(e.ctx, instance)
		return errors.Is(err, provider.ErrNotFound) || e.ctx.Err() != nil
	}) && e.ctx.Err() == nil
}

// know makes the case drive an instance and remove it at the end.
func (e *env) know(instance id.ID) {
	if !slices.Contains(e.made, instance) {
		e.made = append(e.made, instance)
	}
}

// longestRest bounds the time between two Steps: nobody tells a case that
// something happened.
const longestRest = 200 * time.Millisecond

// step lets every instance of the case go on that is due.
func (e *env) step() {
	stepper, ok := e.Provider.(provider.Stepper)
	if !ok {
		return
	}
	for _, instance := range e.made {
		if e.Now != nil && e.Now().Before(e.due[instance]) {
			continue
		}
		rest, err := stepper.Step(e.ctx, instance)
		if rest == 0 || rest > longestRest {
			rest = longestRest
		}
		if err != nil {
			rest = 0
		}
		if err != nil && !errors.Is(err, provider.ErrNotFound) {
			e.lastStep = err
		}
		if e.Now != nil {
			e.due[instance] = e.Now().Add(rest)
		}
	}
}

// provision is a Provision that must succeed.
func (e *env) provision(req provider.ProvisionRequest) *provider.ProvisionResult {
	e.Helper()
	e.know(req.InstanceID)
	res, err := e.Provider.Provision(e.ctx, req)
	e.must(err, "Provision")
	if res == nil {
		e.Fatalf("Provision returned neither a result nor an error")
	}
	return res
}

// running provisions and waits until the instance is ready.
func (e *env) running(req provider.ProvisionRequest) *provider.InstanceStatus {
	e.Helper()
	e.provision(req)
	return e.ready(req.InstanceID)
}

// status is a Status that must succeed.
func (e *env) status(instance id.ID) *provider.InstanceStatus {
	e.Helper()
	st, err := e.Provider.Status(e.ctx, instance)
	e.must(err, "Status")
	if st == nil {
		e.Fatalf("Status returned neither a status nor an error")
	}
	return st
}

// until waits for a status and returns it.
func (e *env) until(instance id.ID, what string, cond func(*provider.InstanceStatus) bool) *provider.InstanceStatus {
	e.Helper()
	var st *provider.InstanceStatus
	var err error
	ok := e.Wait(func() bool {
		if e.ctx.Err() != nil {
			return true
		}
		e.step()
		var now *provider.InstanceStatus
		if now, err = e.Provider.Status(e.ctx, instance); err != nil || now == nil {
			return false
		}
		st = now
		return cond(st)
	})
	if !ok || e.ctx.Err() != nil {
		e.Fatalf("the instance did not become %s: it is %s (status error %v, step error %v)", what, describe(st), err, e.lastStep)
	}
	return st
}

// ready waits for the release that was asked for; a failure ends the wait.
func (e *env) ready(instance id.ID) *provider.InstanceStatus {
	e.Helper()
	st := e.until(instance, "ready", func(st *provider.InstanceStatus) bool {
		return st.State == provider.StateFailed || st.Ready && st.State == provider.StateRunning
	})
	if st.State == provider.StateFailed {
		e.Fatalf("the instance failed: %s", describe(st))
	}
	return st
}

// failed waits for StateFailed.
func (e *env) failed(instance id.ID) *provider.InstanceStatus {
	e.Helper()
	return e.until(instance, "failed", func(st *provider.InstanceStatus) bool { return st.State == provider.StateFailed })
}

// stopped waits for StateStopped.
func (e *env) stopped(instance id.ID) *provider.InstanceStatus {
	e.Helper()
	return e.until(instance, "stopped", func(st *provider.InstanceStatus) bool { return st.State == provider.StateStopped })
}

// deploy is a Deploy that must succeed; the release's id is returned.
func (e *env) deploy(req provider.DeployRequest) id.ID {
	e.Helper()
	if req.ReleaseID.IsNil() {
		req.ReleaseID = id.New(id.KindRelease)
	}
	res, err := e.Provider.Deploy(e.ctx, req)
	e.must(err, "Deploy")
	switch {
	case res == nil:
		e.Fatalf("Deploy returned neither a result nor an error")
	case res.Status != provider.DeployAccepted && res.Status != provider.DeploySucceeded:
		e.Errorf("Deploy returned the status %q", res.Status)
	}
	return req.ReleaseID
}

// deployed deploys changes and waits until they serve.
func (e *env) deployed(instance id.ID, changes ...provider.ServiceDeploySpec) *provider.InstanceStatus {
	e.Helper()
	release := e.deploy(provider.DeployRequest{InstanceID: instance, Services: changes})
	st := e.ready(instance)
	if st.ReleaseID != release || st.TargetReleaseID != release {
		e.Errorf("after the deploy of %s the status has release %s and target %s", release, st.ReleaseID, st.TargetReleaseID)
	}
	return st
}

func (e *env) must(err error, what string) {
	e.Helper()
	if err != nil {
		e.Fatalf("%s: %v", what, err)
	}
}

// want fails unless err is target.
func (e *env) want(err, target error, what string) {
	e.Helper()
	if !errors.Is(err, target) {
		e.Errorf("%s returned %v, want %v", what, err, target)
	}
}

// need skips the case when the fixture lacks something.
func (e *env) need(have bool, what string) {
	e.Helper()
	if !have {
		e.Skipf("the fixture has no %s", what)
	}
}

// describe is a status in a line or a few.
func describe(st *provider.InstanceStatus) string {
	if st == nil {
		return "unknown"
	}
	text := fmt.Sprintf("%s, ready %t, available %t, reason %q, release %s, target %s: %s",
		st.State, st.Ready, st.Available, st.Reason, st.ReleaseID, st.TargetReleaseID, st.Message)
	names := make([]string, 0, len(st.Services))
	for name := range st.Services {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s := st.Services[name]
		text += fmt.Sprintf("\n\t%s: %s, ready %t, reason %q: %s", name, s.State, s.Ready, s.Reason, s.Message)
	}
	return text
}
