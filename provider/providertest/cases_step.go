package providertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// stepCases are about the optional interfaces that move an instance.
var stepCases = []Case{
	{Name: "Step/AtRest", Needs: needProvision, run: stepAtRest},
	{Name: "Step/Await", Needs: needProvision, run: await},
	{Name: "Step/AwaitFailure", Needs: needProvision, run: awaitFailure},
	{Name: "Step/Watch", Needs: needProvision, run: watch},
}

func stepAtRest(e *env) {
	stepper, ok := e.Provider.(provider.Stepper)
	if !ok {
		e.Skipf("the provider is no Stepper")
	}
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	before := refs(e.running(req), "web")
	for range 10 {
		if _, err := stepper.Step(e.ctx, req.InstanceID); err != nil {
			e.Errorf("Step of an instance at rest: %v", err)
		}
	}
	e.unchanged(req.InstanceID, before)
	fails := e.request(e.task("web", provider.RoleMain, "exit:7"))
	fails.Rollout.ReadyTimeout = wait
	e.provision(fails)
	e.failed(fails.InstanceID)
	var again time.Duration
	var err error
	for range 20 { // what ends a failure may take some passes more
		if again, err = stepper.Step(e.ctx, fails.InstanceID); err != nil || again == 0 {
			break
		}
	}
	if err != nil || again != 0 {
		e.Errorf("Step of an instance that failed goes on returning %s, %v", again, err)
	}
}

// await drives an instance by Await alone, which calls Step no earlier than it is
// told to.
func await(e *env) {
	req := e.request(e.task("prepare", provider.RoleInit, "sleep:200ms"), e.slow())
	e.know(req.InstanceID)
	_, err := e.Provider.Provision(e.ctx, req)
	e.must(err, "Provision")
	policy := provider.ReadinessPolicy{Timeout: time.Minute, Interval: time.Second}
	st, err := e.awaits(req.InstanceID, policy)
	if err != nil || st == nil || !st.Ready {
		e.Errorf("Await returned %s, %v", describe(st), err)
	}
	if e.has(provider.CapDeploy) {
		dep := e.next(req.InstanceID, "")
		e.deploy(dep)
		st, err = e.awaits(req.InstanceID, policy)
		if err != nil || st == nil || !st.Ready || st.ReleaseID != dep.ReleaseID {
			e.Errorf("Await of a deploy returned %s, %v", describe(st), err)
		}
	}
}

// awaits runs Await while the fixture passes time.
func (e *env) awaits(instance id.ID, policy provider.ReadinessPolicy) (*provider.InstanceStatus, error) {
	var st *provider.InstanceStatus
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		st, err = provider.Await(e.ctx, e.Provider, instance, policy)
	}()
	e.Wait(func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
	<-done
	return st, err
}

func awaitFailure(e *env) {
	req := e.request(e.task("web", provider.RoleMain, "exit:7"))
	req.Rollout.ReadyTimeout = wait
	e.know(req.InstanceID)
	_, err := e.Provider.Provision(e.ctx, req)
	e.must(err, "Provision")
	st, err := e.awaits(req.InstanceID, provider.ReadinessPolicy{Timeout: time.Minute, Interval: time.Second})
	e.want(err, provider.ErrNotReady, "Await of an instance that fails")
	if got := provider.ReadinessOutcome(st, err); got != provider.ReadinessFailed {
		e.Errorf("the outcome of Await of an instance that fails is %s", got)
	}
}

func watch(e *env) {
	watcher, ok := e.Provider.(provider.Watcher)
	if !ok {
		e.Skipf("the provider is no Watcher")
	}
	var mu sync.Mutex
	told := map[id.ID]int{}
	readies := 0
	ctx, cancel := context.WithCancel(e.ctx)
	done := make(chan error, 1)
	go func() {
		done <- watcher.Watch(ctx,
			func() { mu.Lock(); defer mu.Unlock(); readies++ },
			func(instance id.ID) { mu.Lock(); defer mu.Unlock(); told[instance]++ })
	}()
	defer func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			e.Errorf("Watch ended with %v", err)
		}
	}()
	count := func(instance id.ID) int { mu.Lock(); defer mu.Unlock(); return told[instance] }
	if !e.Wait(func() bool { mu.Lock(); defer mu.Unlock(); return readies > 0 || e.ctx.Err() != nil }) {
		e.Fatalf("Watch is never ready")
	}
	req := e.request()
	e.running(req)
	if !e.Wait(func() bool { return count(req.InstanceID) > 0 }) {
		e.Errorf("Watch did not tell of a new instance")
	}
	before := count(req.InstanceID)
	e.kick(req.InstanceID, "web", 0, "exit:7")
	if !e.Wait(func() bool { return count(req.InstanceID) > before }) {
		e.Errorf("Watch did not tell of a container that ended")
	}
	mu.Lock()
	defer mu.Unlock()
	if readies != 1 {
		e.Errorf("Watch was ready %d times", readies)
	}
}
