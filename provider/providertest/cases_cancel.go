package providertest

import (
	"context"
	"errors"
	"io"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// cancelCases are about calls whose context ends.
var cancelCases = []Case{
	{Name: "Cancel/EveryMethod", Needs: needProvision, run: cancelEvery},
	{Name: "Cancel/WhileItHangs", Needs: needProvision, run: cancelHanging},
	{Name: "Cancel/LongExec", Needs: needExec, run: cancelExec},
	{Name: "Cancel/ThenRepeat", Needs: needProvision, run: cancelThenRepeat},
	{Name: "Cancel/ThenDeprovision", Needs: needProvision, run: cancelThenDeprovision},
	{Name: "Cancel/Goroutines", Needs: needProvision, Alone: true, run: goroutines},
}

// prompt is how soon a call ends after its context.
const prompt = 5 * time.Second

// within runs a call that must end in time by itself.
func (e *env) within(limit time.Duration, call func(ctx context.Context) error) error {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		e.Fatalf("the call did not end within %s", limit)
		return nil
	}
}

// cutOff runs a call whose context ends after a time and fails when the call
// does not end soon after. Of a call that was faster it returns the error too.
func (e *env) cutOff(after time.Duration, what string, call func(ctx context.Context) error) error {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
	}
	cancel()
	timer.Reset(prompt)
	select {
	case err := <-done:
		return err
	case <-timer.C:
		e.Fatalf("%s goes on %s after its context ended", what, prompt)
		return nil
	}
}

// every are all methods, with those that begin and end an instance.
func (e *env) every(req provider.ProvisionRequest) []verb {
	return append([]verb{{"Provision", provider.CapProvision, func(ctx context.Context, e *env, _ id.ID) error {
		_, err := e.Provider.Provision(ctx, req)
		return err
	}}}, append(verbs[:len(verbs):len(verbs)], verb{"Deprovision", provider.CapProvision, func(ctx context.Context, e *env, i id.ID) error {
		return e.Provider.Deprovision(ctx, i)
	}})...)
}

func cancelEvery(e *env) {
	req := e.request()
	before := refs(e.running(req), "web")
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	for _, v := range e.every(req) {
		if !e.has(v.need) {
			continue
		}
		err := e.within(prompt, func(context.Context) error { return v.call(ctx, e, req.InstanceID) })
		e.want(err, context.Canceled, v.name+" with a context that has ended")
	}
	e.unchanged(req.InstanceID, before)
	fresh := e.request()
	e.know(fresh.InstanceID)
	_, err := e.Provider.Provision(ctx, fresh)
	e.want(err, context.Canceled, "Provision with a context that has ended")
}

func cancelHanging(e *env) {
	e.need(e.Fault != nil, "faults")
	hung := 0
	for _, v := range e.every(provider.ProvisionRequest{}) {
		if !e.has(v.need) {
			continue
		}
		req := e.request()
		if v.name != "Provision" {
			e.running(req)
		} else {
			e.know(req.InstanceID)
			v.call = e.every(req)[0].call
		}
		struck := e.Fault(Fault{Call: 1, Kind: Hang})
		if struck == nil {
			e.Skipf("the fixture makes no call hang")
		}
		err := e.cutOff(200*time.Millisecond, v.name, func(ctx context.Context) error { return v.call(ctx, e, req.InstanceID) })
		if struck() {
			hung++
			if err == nil {
				e.Errorf("%s succeeded although the orchestrator did not answer", v.name)
			}
		}
		e.forget(req.InstanceID)
	}
	if hung == 0 {
		e.Errorf("no call of any method met the fault")
	}
}

func cancelExec(e *env) {
	req := e.request()
	e.running(req)
	err := e.cutOff(300*time.Millisecond, "Exec", func(ctx context.Context) error {
		_, err := e.Provider.Exec(ctx, req.InstanceID, provider.ExecRequest{Command: e.command("sleep:1h")})
		return err
	})
	e.want(err, context.Canceled, "Exec of a command that goes on")
}

// moments are when the cases below end a context: some early, some in the midst,
// some after the call.
var moments = []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, 400 * time.Millisecond}

// cancelThenRepeat ends the contexts of calls for one instance after the other, and
// lets all of them come to rest together.
func cancelThenRepeat(e *env) {
	reqs := make([]provider.ProvisionRequest, len(moments))
	for i, after := range moments {
		reqs[i] = e.request(e.slow(), e.web("side", provider.RoleSidecar, port+1))
		if after >= 10*time.Millisecond { // which may fall into what an init does
			reqs[i].Services = append(reqs[i].Services, e.task("prepare", provider.RoleInit, "sleep:150ms"))
		}
		e.know(reqs[i].InstanceID)
		call := func(ctx context.Context) error { _, err := e.Provider.Provision(ctx, reqs[i]); return err }
		if err := e.cutOff(after, "Provision", call); err != nil && !errors.Is(err, context.Canceled) {
			e.Errorf("Provision whose context ended after %s returned %v", after, err)
		}
	}
	for _, req := range reqs {
		e.provision(req)
	}
	for _, req := range reqs {
		e.whole(e.ready(req.InstanceID))
	}
	if !e.has(provider.CapDeploy) {
		return
	}
	deps := make([]provider.DeployRequest, len(moments))
	for i, after := range moments {
		deps[i] = e.next(reqs[i].InstanceID, "")
		call := func(ctx context.Context) error { _, err := e.Provider.Deploy(ctx, deps[i]); return err }
		if err := e.cutOff(after, "Deploy", call); err != nil && !errors.Is(err, context.Canceled) {
			e.Errorf("Deploy whose context ended after %s returned %v", after, err)
		}
	}
	for _, dep := range deps {
		e.deploy(dep)
	}
	for _, dep := range deps {
		st := e.ready(dep.InstanceID)
		e.whole(st)
		if st.ReleaseID != dep.ReleaseID {
			e.Errorf("after a repeated Deploy release %s serves, not %s", st.ReleaseID, dep.ReleaseID)
		}
	}
}

func cancelThenDeprovision(e *env) {
	for _, after := range moments {
		req := e.full()
		e.know(req.InstanceID)
		_ = e.cutOff(after, "Provision", func(ctx context.Context) error { _, err := e.Provider.Provision(ctx, req); return err })
		_ = e.cutOff(after, "Deprovision", func(ctx context.Context) error { return e.Provider.Deprovision(ctx, req.InstanceID) })
		e.forget(req.InstanceID)
	}
}

// goroutines looks for what calls leave running.
func goroutines(e *env) {
	before := goleak.IgnoreCurrent()
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	e.running(req)
	for _, v := range verbs {
		if e.has(v.need) {
			_ = v.call(e.ctx, e, req.InstanceID)
		}
	}
	if e.has(provider.CapLogs) {
		f := e.follow(req.InstanceID, provider.LogOptions{})
		f.cancel()
		e.ends(f, "the end of its context")
	}
	other := e.request()
	e.know(other.InstanceID)
	_ = e.cutOff(0, "Provision", func(ctx context.Context) error { _, err := e.Provider.Provision(ctx, other); return err })
	e.forget(other.InstanceID)
	e.forget(req.InstanceID)
	if c, ok := e.Provider.(io.Closer); ok { // which ends connections that it kept for the next call
		e.must(c.Close(), "Close")
	}
	leak := goleak.Find(before) // which itself looks a few times, over two seconds
	for tries := 0; leak != nil && tries < 5; tries++ {
		leak = goleak.Find(before)
	}
	if leak != nil {
		e.Errorf("after Deprovision there still run %v", leak)
	}
}
