package providertest

import (
	"context"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// recoveryCases are about a new process on what an old one left.
var recoveryCases = []Case{
	{Name: "Deploy/NoRecord", Needs: needDeploy, run: noRecord},
	{Name: "Deploy/AfterRestart", Needs: needDeploy, run: deployAfterRestart},
	{Name: "Deploy/RestartDuringRollout", Needs: needDeploy, run: restartDuringRollout},
}

// noRecord has nothing but what the orchestrator itself knows.
func noRecord(e *env) {
	e.need(e.Restart != nil, "way to restart the provider")
	req := e.request(mainWithData(e), e.web("side", provider.RoleSidecar, port+1))
	before := refs(e.running(req), "web")
	e.Provider = e.Restart(false)
	st := e.status(req.InstanceID)
	if st.State != provider.StateRunning || !st.Available || st.ReleaseID != req.InitialRelease() {
		e.Errorf("without a record the instance is %s", describe(st))
	}
	e.same(req.InstanceID, "web", before, "without a record")
	for _, call := range []struct {
		name string
		err  error
	}{
		{"Deploy", verbs[4].call(e.ctx, e, req.InstanceID)},
		{"Rollback", e.Provider.Rollback(e.ctx, req.InstanceID, id.Nil)},
	} {
		e.want(call.err, provider.ErrNoRecord, call.name+" without a record")
	}
	e.do(req.InstanceID, "web", 0, "out:heard")
	if e.has(provider.CapLogs) {
		e.logsWith(req.InstanceID, provider.LogOptions{}, "heard")
	}
	if e.has(provider.CapExec) {
		e.execOK(req.InstanceID, provider.ExecRequest{Command: e.command("out:hello")})
	}
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop without a record")
	e.until(req.InstanceID, "stopped", func(st *provider.InstanceStatus) bool { return !st.Available && st.State == provider.StateStopped })
	e.must(e.Provider.Start(e.ctx, req.InstanceID), "Start without a record")
	e.until(req.InstanceID, "running", func(st *provider.InstanceStatus) bool { return st.Available && st.State == provider.StateRunning })
	if e.has(provider.CapVolumes) {
		if got := e.do(req.InstanceID, "web", 0, "read:/data/kept"); got != "yes" {
			e.Errorf("after Stop and Start without a record the data is %q", got)
		}
	}
	e.remove(req.InstanceID)
	e.allNotFound(req.InstanceID, "after a Deprovision without a record")
}

// mainWithData is main with something in its volume, where there are volumes.
func mainWithData(e *env) provider.ServiceSpec {
	svc := e.web("web", provider.RoleMain, port)
	if e.has(provider.CapVolumes) {
		svc = mounted(svc, false)
		svc.Args = serving(port, "write:/data/kept:yes")
	}
	return svc
}

func deployAfterRestart(e *env) {
	e.need(e.Restart != nil, "way to restart the provider")
	req := e.request()
	before := refs(e.running(req), "web")
	e.Provider = e.Restart(true)
	e.settle()
	e.ready(req.InstanceID)
	e.same(req.InstanceID, "web", before, "after a restart of the provider")
	e.provision(req)
	e.deployed(req.InstanceID, e.change("web", e.Images.V2))
	e.Provider = e.Restart(true)
	e.must(e.Provider.Rollback(e.ctx, req.InstanceID, id.Nil), "Rollback")
	e.ready(req.InstanceID)
	if got := e.do(req.InstanceID, "web", 0, "env:VERSION"); got != "1" {
		e.Errorf("after a rollback by a new process version %q answers", got)
	}
}

func restartDuringRollout(e *env) {
	e.need(e.Restart != nil, "way to restart the provider")
	req := e.request(e.slow())
	e.running(req)
	p := e.probe(req.InstanceID, "web")
	dep := e.next(req.InstanceID, "")
	_ = e.cutOff(100*time.Millisecond, "Deploy", func(ctx context.Context) error { _, err := e.Provider.Deploy(ctx, dep); return err })
	p.stop() // which uses the provider
	e.Provider = e.Restart(true)
	p2 := e.probe(req.InstanceID, "web")
	st := e.ready(req.InstanceID)
	p2.noGap("a rollout that a new process went on with")
	if st.ReleaseID != dep.ReleaseID {
		e.Errorf("a new process ended a rollout of %s with %s", dep.ReleaseID, st.ReleaseID)
	}
	if n := len(refs(st, "web")); n != 1 {
		e.Errorf("there are %d containers of main", n)
	}
}
