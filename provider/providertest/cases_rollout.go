package providertest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/providertest/script"
)

// rolloutCases are about the way from one release to the next.
var rolloutCases = []Case{
	{Name: "Deploy/NoGap", Needs: needDeploy, run: noGap},
	{Name: "Deploy/BlueGreen", Needs: append(needDeploy[:2:2], provider.CapBlueGreen), run: blueGreen},
	{Name: "Deploy/Rolling", Needs: append(needDeploy[:2:2], provider.CapRolling), run: rolling},
	{Name: "Deploy/Canary", Needs: append(needDeploy[:2:2], provider.CapCanary), run: canary},
	{Name: "Deploy/Recreate", Needs: needDeploy, run: recreate},
	{Name: "Deploy/UnsupportedStrategy", Needs: needDeploy, run: unsupportedStrategy},
	{Name: "Deploy/OneWriter", Needs: append(needDeploy[:2:2], provider.CapVolumes), run: oneWriter},
	{Name: "Deploy/RecreateFails", Needs: append(needDeploy[:2:2], provider.CapVolumes), run: recreateFails},
	{Name: "Deploy/FailureKeepsOld", Needs: needDeploy, run: failureKeepsOld},
	{Name: "Deploy/InitFailureKeepsOld", Needs: needDeploy, run: initFailureKeepsOld},
	{Name: "Deploy/FailureIsNoBase", Needs: needDeploy, run: failureIsNoBase},
	{Name: "Deploy/Busy", Needs: needDeploy, run: busy},
}

// next is the deploy of version 2, with a strategy.
func (e *env) next(instance id.ID, strategy string) provider.DeployRequest {
	return provider.DeployRequest{
		InstanceID: instance, ReleaseID: id.New(id.KindRelease), Strategy: strategy,
		Services: []provider.ServiceDeploySpec{e.change("web", e.Images.V2)},
	}
}

// slow is a main service that takes a while to listen, so that there is a time
// in which a wrong order leaves nobody.
func (e *env) slow() provider.ServiceSpec {
	svc := e.web("web", provider.RoleMain, port)
	svc.Args = serving(port, "sleep:700ms")
	return svc
}

func noGap(e *env) {
	req := e.request(e.slow(), e.web("side", provider.RoleSidecar, port+1))
	e.running(req)
	_, p := e.rolled(e.next(req.InstanceID, ""), "web")
	if p.versions["1"] == 0 {
		e.Errorf("the old release never answered during the deploy")
	}
	if v := e.do(req.InstanceID, "web", 0, "env:VERSION"); v != "2" {
		e.Errorf("after the deploy version %q answers", v)
	}
}

func blueGreen(e *env) {
	req := e.request(times(e.slow(), 2))
	e.running(req)
	_, p := e.rolled(e.next(req.InstanceID, provider.StrategyBlueGreen), "web")
	if p.mixed > 0 {
		e.Errorf("%d of %d times the endpoints of both releases were given at once", p.mixed, p.asked)
	}
	e.all(req.InstanceID, 2, "2")
}

// all fails unless every replica of web has the version.
func (e *env) all(instance id.ID, replicas int, version string) {
	e.Helper()
	st := e.ready(instance)
	if n := len(refs(st, "web")); n != replicas {
		e.Errorf("there are %d replicas, want %d", n, replicas)
	}
	for _, ep := range endpoints(st, "web", -1) {
		if said, err := e.ask(e.ctx, ep, "env:VERSION"); err != nil || strings.TrimSpace(said) != version {
			e.Errorf("endpoint %s answers with version %q, %v, want %s", ep.URL, said, err, version)
		}
	}
}

func rolling(e *env) {
	const replicas = 3
	req := e.request(times(e.slow(), replicas))
	req.Rollout.MaxSurge, req.Rollout.MaxUnavailable = "1", "0"
	st := e.running(req)
	apart := len(endpoints(st, "web", -1)) == replicas // each replica has a way in of its own
	_, p := e.rolled(e.next(req.InstanceID, provider.StrategyRolling), "web")
	if apart && p.fewest < replicas {
		e.Errorf("there were only %d ways in during a rollout in which none of %d may be missing", p.fewest, replicas)
	}
	e.all(req.InstanceID, replicas, "2")
	// The other way: none above, one may be missing.
	dep := e.next(req.InstanceID, provider.StrategyRolling)
	dep.Rollout = &provider.RolloutSpec{MaxSurge: "0", MaxUnavailable: "1", ReadyTimeout: time.Minute}
	dep.Services[0] = e.change("web", e.Images.V1)
	_, p = e.rolled(dep, "web")
	if apart && p.fewest < replicas-1 {
		e.Errorf("there were only %d ways in during a rollout in which one of %d may be missing", p.fewest, replicas)
	}
	e.all(req.InstanceID, replicas, "1")
}

func canary(e *env) {
	req := e.request(times(e.slow(), 2))
	e.running(req)
	e.rolled(e.next(req.InstanceID, provider.StrategyCanary), "web")
	e.all(req.InstanceID, 2, "2")
}

func recreate(e *env) {
	req := e.request(e.slow())
	e.running(req)
	dep := e.next(req.InstanceID, provider.StrategyRecreate)
	_, err := e.Provider.Deploy(e.ctx, dep)
	if errors.Is(err, provider.ErrNotSupported) {
		e.Skipf("the provider does not support %s", provider.StrategyRecreate)
	}
	e.must(err, "Deploy")
	e.all(req.InstanceID, 1, "2")
}

func unsupportedStrategy(e *env) {
	req := e.request()
	before := refs(e.running(req), "web")
	tried := 0
	for strategy, c := range map[string]provider.Capability{
		provider.StrategyBlueGreen: provider.CapBlueGreen, provider.StrategyRolling: provider.CapRolling, provider.StrategyCanary: provider.CapCanary,
	} {
		if e.has(c) {
			continue
		}
		tried++
		_, err := e.Provider.Deploy(e.ctx, e.next(req.InstanceID, strategy))
		e.want(err, provider.ErrNotSupported, "Deploy by "+strategy+", which is not listed,")
	}
	_, err := e.Provider.Deploy(e.ctx, e.next(req.InstanceID, "by-magic"))
	if !errors.Is(err, provider.ErrNotSupported) && !errors.Is(err, provider.ErrInvalid) {
		e.Errorf("Deploy by a strategy that does not exist returned %v", err)
	}
	e.unchanged(req.InstanceID, before)
	if tried == 0 {
		e.Logf("the provider lists every strategy")
	}
}

// writer is a main service that must be the only one in its volume.
func (e *env) writer() provider.ServiceSpec {
	svc := mounted(e.web("web", provider.RoleMain, port), false)
	svc.Args = serving(port, "hold:/data")
	return svc
}

// alone fails when two writers ever met in the volume.
func (e *env) alone(instance id.ID) {
	e.Helper()
	if said, err := e.try(instance, "web", 0, "read:/data/"+script.ConflictFile); err == nil {
		e.Errorf("two containers wrote one volume: %s", said)
	}
}

func oneWriter(e *env) {
	req := e.request(e.writer())
	e.running(req)
	e.do(req.InstanceID, "web", 0, "write:/data/kept:by the first")
	e.deployed(req.InstanceID, e.change("web", e.Images.V2))
	if got := e.do(req.InstanceID, "web", 0, "env:VERSION", "read:/data/kept"); got != "2\nby the first" {
		e.Errorf("after a deploy version and data are %q", got)
	}
	e.alone(req.InstanceID)
	e.must(e.Provider.Restart(e.ctx, req.InstanceID), "Restart")
	e.ready(req.InstanceID)
	e.alone(req.InstanceID)
	for _, strategy := range []string{provider.StrategyBlueGreen, provider.StrategyRolling} {
		_, err := e.Provider.Deploy(e.ctx, e.next(req.InstanceID, strategy))
		if !errors.Is(err, provider.ErrInvalid) && !errors.Is(err, provider.ErrNotSupported) {
			e.ready(req.InstanceID) // whoever accepts it has to do it without two writers
		}
	}
	e.alone(req.InstanceID)
	if got := e.do(req.InstanceID, "web", 0, "read:/data/kept"); got != "by the first" {
		e.Errorf("after deploys the data is %q", got)
	}
}

func recreateFails(e *env) {
	req := e.request(e.writer())
	e.running(req)
	e.do(req.InstanceID, "web", 0, "write:/data/kept:by the first")
	e.failNext(req, e.change("web", e.Images.V2, withArgs("err:no licence", "exit:7")))
	e.until(req.InstanceID, "available", func(st *provider.InstanceStatus) bool { return st.Available })
	if got := e.do(req.InstanceID, "web", 0, "env:VERSION", "read:/data/kept"); got != "1\nby the first" {
		e.Errorf("after a deploy that failed version and data are %q", got)
	}
	e.alone(req.InstanceID)
}

// failNext deploys what cannot become ready, waits until that has failed and
// checks what Status says.
func (e *env) failNext(req provider.ProvisionRequest, d provider.ServiceDeploySpec) *provider.InstanceStatus {
	e.Helper()
	old := e.status(req.InstanceID).ReleaseID
	release := e.deploy(provider.DeployRequest{
		InstanceID: req.InstanceID, Services: []provider.ServiceDeploySpec{d},
		Rollout: &provider.RolloutSpec{ReadyTimeout: wait},
	})
	st := e.failed(req.InstanceID)
	if st.Reason != provider.ReasonRolloutFailed || st.Ready {
		e.Errorf("after a rollout that failed the instance is %s", describe(st))
	}
	if st.ReleaseID != old || st.TargetReleaseID != release {
		e.Errorf("after a rollout that failed release and target are %s and %s, want %s and %s", st.ReleaseID, st.TargetReleaseID, old, release)
	}
	return st
}

func failureKeepsOld(e *env) {
	req := e.request()
	before := refs(e.running(req), "web")
	p := e.probe(req.InstanceID, "web")
	st := e.failNext(req, e.change("web", e.Images.V2, withArgs("err:no licence", "exit:7")))
	if !strings.Contains(st.Message, "7") || !strings.Contains(st.Message, "no licence") {
		e.Errorf("the message %q does not say why", st.Message)
	}
	if !st.Available {
		e.Errorf("the old release serves, and the instance is %s", describe(st))
	}
	st = e.failNext(req, e.change("web", e.Images.V2, withArgs(serving(port, "unhealthy")...)))
	if !strings.Contains(st.Message, "/healthz") {
		e.Errorf("the message %q does not say what was asked", st.Message)
	}
	e.settle()
	p.noGap("two rollouts that failed")
	if p.versions["2"] > 0 {
		e.Errorf("a release that never was ready answered %d times", p.versions["2"])
	}
	e.same(req.InstanceID, "web", before, "after rollouts that failed")
	if got := refs(e.status(req.InstanceID), "web"); len(got) != 1 {
		e.Errorf("after rollouts that failed the containers are %q", got)
	}
}

func initFailureKeepsOld(e *env) {
	req := e.request(e.task("prepare", provider.RoleInit), e.web("web", provider.RoleMain, port))
	e.running(req)
	p := e.probe(req.InstanceID, "web")
	st := e.failNext(req, e.change("prepare", e.Images.V2, withArgs("err:no such table", "exit:3")))
	if !strings.Contains(st.Message, "3") || !strings.Contains(st.Message, "no such table") {
		e.Errorf("the message %q does not say why", st.Message)
	}
	e.settle()
	p.noGap("a rollout whose init failed")
	if st := e.status(req.InstanceID); !st.Available {
		e.Errorf("the old release serves, and the instance is %s", describe(st))
	}
}

// failureIsNoBase deploys a part on top of a release that failed.
func failureIsNoBase(e *env) {
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	e.running(req)
	e.failNext(req, e.change("web", e.Images.V1, withArgs("exit:7"), withEnv(map[string]string{"COLOUR": "bad"})))
	e.deployed(req.InstanceID, e.change("side", e.Images.V2))
	if got, err := e.try(req.InstanceID, "web", 0, "env:COLOUR"); err == nil {
		e.Errorf("COLOUR=%s of a release that failed is in the next one", got)
	}
	e.deployed(req.InstanceID, e.change("web", e.Images.V2))
	if got := e.do(req.InstanceID, "web", 0, "env:VERSION"); got != "2" {
		e.Errorf("after a good deploy version %q answers", got)
	}
}

func busy(e *env) {
	req := e.request()
	e.running(req)
	dep := e.next(req.InstanceID, "")
	dep.Services[0].Args = serving(port, "unhealthy")
	dep.Rollout = &provider.RolloutSpec{ReadyTimeout: time.Hour}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	done := make(chan struct{})
	go func() { // a provider may wait for the rollout in the call
		defer close(done)
		_, _ = e.Provider.Deploy(ctx, dep)
	}()
	e.until(req.InstanceID, "rolling", func(st *provider.InstanceStatus) bool { return st.TargetReleaseID == dep.ReleaseID })
	st := e.status(req.InstanceID)
	if st.State != provider.StateStarting || st.Reason != provider.ReasonRollingOut || st.Ready || !st.Available {
		e.Errorf("during a rollout the instance is %s", describe(st))
	}
	_, err := e.Provider.Deploy(e.ctx, e.next(req.InstanceID, ""))
	e.want(err, provider.ErrBusy, "Deploy of another release during a rollout")
	if st := e.status(req.InstanceID); st.TargetReleaseID != dep.ReleaseID {
		e.Errorf("a Deploy that was refused changed the target to %s", st.TargetReleaseID)
	}
	cancel()
	<-done
}
