package providertest

import (
	"time"

	"github.com/berth-cloud/berth/provider"
)

// startStopCases are about Start, Stop and Restart.
var startStopCases = []Case{
	{Name: "StartStop/KeepsData", Needs: needVolumes, run: stopKeepsData},
	{Name: "StartStop/StatefulIdentity", Needs: needVolumes, run: statefulIdentity},
	{Name: "StartStop/Repeated", Needs: needProvision, run: startStopRepeated},
	{Name: "StartStop/Restart", Needs: needProvision, run: restart},
	{Name: "StartStop/RestartOfAStopped", Needs: needProvision, run: restartStopped},
	{Name: "StartStop/RestartNoGap", Needs: needDeploy, run: restartNoGap},
	{Name: "StartStop/Status", Needs: needProvision, run: stopStatus},
	{Name: "StartStop/StopAfterFailure", Needs: needDeploy, run: stopAfterFailure},
	{Name: "StartStop/Grace", Needs: append(needVolumes[:2:2], provider.CapDeploy), run: stopGrace},
	{Name: "StartStop/Order", Needs: needProvision, run: startOrder},
}

func stopKeepsData(e *env) {
	req := e.request(e.writer(), e.web("side", provider.RoleSidecar, port+1))
	e.running(req)
	e.do(req.InstanceID, "web", 0, "write:/data/kept:yes")
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
	e.stopped(req.InstanceID)
	e.must(e.Provider.Start(e.ctx, req.InstanceID), "Start")
	e.ready(req.InstanceID)
	if got := e.do(req.InstanceID, "web", 0, "read:/data/kept"); got != "yes" {
		e.Errorf("after Stop and Start the data is %q", got)
	}
	e.alone(req.InstanceID)
}

func statefulIdentity(e *env) {
	const replicas = 2
	req := e.request(times(mounted(e.web("web", provider.RoleMain, port), false), replicas))
	req.Kind = provider.KindStatefulSet
	e.running(req)
	for i := range replicas {
		e.do(req.InstanceID, "web", i, "write:/data/name:replica "+digits(i))
	}
	check := func(after string) {
		if n := len(refs(e.status(req.InstanceID), "web")); n != replicas {
			e.Errorf("%s there are %d replicas, want %d", after, n, replicas)
		}
		for i := range replicas {
			if got := e.do(req.InstanceID, "web", i, "read:/data/name"); got != "replica "+digits(i) {
				e.Errorf("%s replica %d has the data %q", after, i, got)
			}
		}
	}
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
	e.stopped(req.InstanceID)
	e.must(e.Provider.Start(e.ctx, req.InstanceID), "Start")
	e.ready(req.InstanceID)
	check("after Stop and Start")
	if e.has(provider.CapDeploy) {
		e.deployed(req.InstanceID, e.change("web", e.Images.V2))
		check("after a deploy")
	}
}

// stopAfterFailure: what a rollout came to does not hide that nothing runs, and is
// said again once something does.
func stopAfterFailure(e *env) {
	req := e.request()
	e.running(req)
	bad := e.failNext(req, e.change("web", e.Images.V2, withArgs("exit:7"))).TargetReleaseID
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
	if st := e.stopped(req.InstanceID); st.Ready || st.Available || st.TargetReleaseID != bad {
		e.Errorf("after a rollout that failed and a Stop the instance is %s", describe(st))
	}
	e.must(e.Provider.Start(e.ctx, req.InstanceID), "Start")
	st := e.until(req.InstanceID, "failed, with the release before serving", func(st *provider.InstanceStatus) bool {
		return st.State == provider.StateFailed && st.Available
	})
	if st.Reason != provider.ReasonRolloutFailed {
		e.Errorf("after Stop and Start of an instance whose rollout failed it is %s", describe(st))
	}
}

func startStopRepeated(e *env) {
	req := e.request()
	before := refs(e.running(req), "web")
	e.must(e.Provider.Start(e.ctx, req.InstanceID), "Start of what runs")
	e.settle()
	e.ready(req.InstanceID)
	e.same(req.InstanceID, "web", before, "after Start of what runs")
	for range 2 {
		e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
		e.stopped(req.InstanceID)
	}
	for range 2 {
		e.must(e.Provider.Start(e.ctx, req.InstanceID), "Start")
	}
	e.ready(req.InstanceID)
	if n := len(refs(e.status(req.InstanceID), "web")); n != 1 {
		e.Errorf("after two Starts there are %d containers", n)
	}
}

func restart(e *env) {
	req := e.request(times(e.web("web", provider.RoleMain, port), 2), e.web("side", provider.RoleSidecar, port+1))
	st := e.running(req)
	began := map[string]time.Time{}
	for _, name := range []string{"web", "side"} {
		for _, r := range st.Services[name].Replicas {
			began[name+digits(r.Replica)] = *r.StartedAt
		}
	}
	e.settle() // so that a container that starts anew has another time
	e.must(e.Provider.Restart(e.ctx, req.InstanceID), "Restart")
	st = e.until(req.InstanceID, "restarted", func(st *provider.InstanceStatus) bool {
		if !st.Ready || st.State != provider.StateRunning {
			return false
		}
		for _, name := range []string{"web", "side"} {
			for _, r := range st.Services[name].Replicas {
				if r.StartedAt == nil || !r.StartedAt.After(began[name+digits(r.Replica)]) {
					return false
				}
			}
		}
		return true
	})
	if len(refs(st, "web")) != 2 || len(refs(st, "side")) != 2 || st.ReleaseID != req.InitialRelease() {
		e.Errorf("after a Restart the instance is %s", describe(st))
	}
}

func restartStopped(e *env) {
	req := e.request()
	e.running(req)
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
	e.stopped(req.InstanceID)
	e.must(e.Provider.Restart(e.ctx, req.InstanceID), "Restart of what is stopped")
	e.ready(req.InstanceID)
	e.do(req.InstanceID, "web", 0, "hostname")
}

func restartNoGap(e *env) {
	req := e.request(e.slow())
	e.running(req)
	before := refs(e.status(req.InstanceID), "web")
	p := e.probe(req.InstanceID, "web")
	e.must(e.Provider.Restart(e.ctx, req.InstanceID), "Restart")
	st := e.ready(req.InstanceID)
	p.noGap("a restart")
	if now := refs(st, "web"); len(now) != 1 || now[0] == before[0] {
		e.Errorf("after a restart without a gap the containers are %q, before they were %q", now, before)
	}
}

func stopStatus(e *env) {
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	st := e.running(req)
	ways := st.Endpoints
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
	st = e.stopped(req.InstanceID)
	if st.Ready || st.Available || st.Reason != provider.ReasonStopped || st.ReleaseID != req.InitialRelease() {
		e.Errorf("an instance that was stopped is %s", describe(st))
	}
	for name, s := range st.Services {
		if s.Ready || s.State != provider.StateStopped {
			e.Errorf("service %s of a stopped instance is %s, ready %t", name, s.State, s.Ready)
		}
	}
	e.noneAnswers(ways, "of a stopped instance")
	if e.Inspect != nil {
		if n := len(e.Inspect(req.InstanceID)); n != 0 {
			e.Errorf("the orchestrator runs %d containers of a stopped instance", n)
		}
	}
	for range 3 { // a stopped instance stays so
		e.settle()
	}
	if st := e.status(req.InstanceID); st.State != provider.StateStopped {
		e.Errorf("a stopped instance became %s", describe(st))
	}
}

// stopGrace has one service that ends when it is told to, and notes that, and
// one that does not.
func stopGrace(e *env) {
	polite := mounted(e.web("web", provider.RoleMain, port), false)
	polite.Args = append(serving(port), "sleep:300ms", "write:/data/end:polite")
	stubborn := e.web("side", provider.RoleSidecar, port+1)
	stubborn.Args = []string{"ignore", "listen:" + digits(port+1), "sleep:1h"}
	stubborn.StopGrace = time.Second
	req := e.request(polite, stubborn)
	e.running(req)
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
	e.stopped(req.InstanceID)
	e.must(e.Provider.Start(e.ctx, req.InstanceID), "Start")
	e.ready(req.InstanceID)
	if got, err := e.try(req.InstanceID, "web", 0, "read:/data/end"); got != "polite" {
		e.Errorf("a service was not told to end, or not given the time: %q, %v", got, err)
	}
}

// startOrder stops and starts a group whose main needs its sidecar to be ready.
func startOrder(e *env) {
	side := e.web("side", provider.RoleSidecar, port+1)
	side.Args = serving(port+1, "sleep:500ms")
	main := e.web("web", provider.RoleMain, port)
	main.Args = serving(port, "dial:side:"+digits(port+1))
	main.DependsOn = []string{"side"}
	req := e.request(main, side)
	e.running(req)
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
	e.stopped(req.InstanceID)
	e.must(e.Provider.Start(e.ctx, req.InstanceID), "Start")
	st := e.ready(req.InstanceID)
	if n := st.Services["web"].Restarts; n != 0 {
		e.Errorf("Start started main %d times before what it depends on was ready", n)
	}
}
