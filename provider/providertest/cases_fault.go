package providertest

import (
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/secrets"
)

// mostCalls bounds for how many calls of one operation a case makes faults. An
// operation of a few containers makes fewer.
const mostCalls = 120

// eachFault runs f with a fault at each call, one after the other, until one
// did not strike. f returns how the fault ended.
func (e *env) eachFault(kinds []FaultKind, f func(at Fault, arm func() (struck func() bool)) bool) {
	e.Helper()
	if e.Fault == nil {
		e.Skipf("the fixture makes no faults")
	}
	tried := 0
	for _, kind := range kinds {
		for n := 1; ; n++ {
			if n > mostCalls {
				e.Fatalf("%s: the operation makes more than %d calls", kind, mostCalls)
			}
			at, supported := Fault{Call: n, Kind: kind}, true
			struck := f(at, func() func() bool {
				armed := e.Fault(at)
				if armed == nil {
					supported = false
					return func() bool { return false }
				}
				return armed
			})
			if e.Failed() {
				e.Fatalf("with %s at call %d", kind, n)
			}
			if !supported || !struck {
				break
			}
			tried++
		}
	}
	if tried == 0 {
		e.Skipf("the fixture makes none of the faults %v", kinds)
	}
}

var failures = []FaultKind{FailBefore, FailAfter}

var cuts = []FaultKind{CutBefore, CutAfter}

// full is a request that makes a driver take every step that there is.
func (e *env) full() provider.ProvisionRequest {
	web := e.web("web", provider.RoleMain, port)
	if provider.HasCapability(e.Provider, provider.CapVolumes) {
		web = mounted(web, false)
	}
	web.ConfigFiles = []provider.ConfigFile{{Name: "conf", Path: "/etc/app/conf", Content: "colour=red"}}
	web.Secrets = []provider.SecretRef{{Key: "token"}}
	e.secret(e.Tenant, "token", "sesame")
	return e.request(e.task("prepare", provider.RoleInit, "out:prepared"), web, e.web("side", provider.RoleSidecar, port+1))
}

// secret puts a value into the vault.
func (e *env) secret(tenant, key, value string) secrets.Version {
	e.Helper()
	v, err := e.Vault.Put(e.ctx, secrets.Ref{Tenant: tenant, Key: key}, secrets.NewSecretString(value))
	e.must(err, "put a secret")
	return v
}

// converge waits until an instance is ready. When a fault made it fail, again is
// what has to make it good.
func (e *env) converge(instance id.ID, again func() error) *provider.InstanceStatus {
	e.Helper()
	st := e.until(instance, "ready or failed", func(st *provider.InstanceStatus) bool {
		return st.State == provider.StateFailed || st.Ready && st.State == provider.StateRunning
	})
	if st.State != provider.StateFailed {
		return st
	}
	e.must(again(), "the call that is repeated after a failure")
	return e.ready(instance)
}

// whole fails unless every service of full runs once.
func (e *env) whole(st *provider.InstanceStatus) {
	e.Helper()
	for _, name := range []string{"web", "side"} {
		if n := len(refs(st, name)); n != 1 {
			e.Errorf("there are %d containers of %s", n, name)
		}
	}
}

func provisionAfterFailure(e *env) {
	e.eachFault(failures, func(_ Fault, arm func() func() bool) bool {
		req := e.full()
		e.know(req.InstanceID)
		again := func() error { _, err := e.Provider.Provision(e.ctx, req); return err }
		struck := arm()
		err := again()
		if err != nil {
			e.must(again(), "Provision, repeated after "+err.Error())
		}
		e.whole(e.converge(req.InstanceID, again))
		hit := struck()
		if err != nil && !hit {
			e.Errorf("Provision failed without a fault: %v", err)
		}
		e.forget(req.InstanceID)
		return hit
	})
}

func provisionCrash(e *env) {
	e.need(e.Restart != nil, "way to restart the provider")
	e.eachFault(cuts, func(_ Fault, arm func() func() bool) bool {
		req := e.full()
		e.know(req.InstanceID)
		again := func() error { _, err := e.Provider.Provision(e.ctx, req); return err }
		struck := arm()
		if err := again(); err == nil {
			e.drive(req.InstanceID)
		}
		hit := struck()
		if hit {
			e.Provider = e.Restart(true)
		}
		e.must(again(), "Provision, repeated after a crash")
		e.whole(e.converge(req.InstanceID, again))
		e.forget(req.InstanceID)
		return hit
	})
}

// drive lets an instance go on until it is at rest, or the provider was cut.
func (e *env) drive(instance id.ID) {
	e.Wait(func() bool {
		if e.ctx.Err() != nil {
			return true
		}
		e.step()
		st, err := e.Provider.Status(e.ctx, instance)
		return err != nil || st.Ready && st.State == provider.StateRunning ||
			st.State == provider.StateFailed || st.State == provider.StateStopped
	})
}

func deployAfterFailure(e *env) {
	e.eachFault(failures, func(_ Fault, arm func() func() bool) bool {
		req := e.full()
		e.running(req)
		dep := e.fullDeploy(req.InstanceID)
		again := func() error { _, err := e.Provider.Deploy(e.ctx, dep); return err }
		struck := arm()
		if err := again(); err != nil {
			e.must(again(), "Deploy, repeated after "+err.Error())
		}
		e.deployedWhole(e.converge(req.InstanceID, again), dep)
		hit := struck()
		e.forget(req.InstanceID)
		return hit
	})
}

func deployCrash(e *env) {
	e.need(e.Restart != nil, "way to restart the provider")
	e.eachFault(cuts, func(_ Fault, arm func() func() bool) bool {
		req := e.full()
		e.running(req)
		dep := e.fullDeploy(req.InstanceID)
		again := func() error { _, err := e.Provider.Deploy(e.ctx, dep); return err }
		struck := arm()
		if err := again(); err == nil {
			e.drive(req.InstanceID)
		}
		hit := struck()
		if hit {
			e.Provider = e.Restart(true)
		}
		e.must(again(), "Deploy, repeated after a crash")
		e.deployedWhole(e.converge(req.InstanceID, again), dep)
		e.forget(req.InstanceID)
		return hit
	})
}

func (e *env) fullDeploy(instance id.ID) provider.DeployRequest {
	return provider.DeployRequest{InstanceID: instance, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{
		e.change("web", e.Images.V2, func(d *provider.ServiceDeploySpec) {
			d.ConfigFiles = []provider.ConfigFile{{Name: "conf", Path: "/etc/app/conf", Content: "colour=blue"}}
		}),
	}}
}

func (e *env) deployedWhole(st *provider.InstanceStatus, dep provider.DeployRequest) {
	e.Helper()
	e.whole(st)
	if st.ReleaseID != dep.ReleaseID {
		e.Errorf("the release that serves is %s, the one that was deployed %s", st.ReleaseID, dep.ReleaseID)
	}
	if got := e.do(dep.InstanceID, "web", 0, "env:VERSION", "read:/etc/app/conf"); got != "2\ncolour=blue" {
		e.Errorf("version and configuration are %q after the deploy", got)
	}
}

func deprovisionAfterFailure(e *env) {
	e.eachFault(failures, func(_ Fault, arm func() func() bool) bool {
		req := e.full()
		e.running(req)
		struck := arm()
		if err := e.Provider.Deprovision(e.ctx, req.InstanceID); err == nil {
			e.gone(req.InstanceID)
		}
		hit := struck()
		e.forget(req.InstanceID)
		return hit
	})
}

func deprovisionCrash(e *env) {
	e.need(e.Restart != nil, "way to restart the provider")
	e.eachFault(cuts, func(_ Fault, arm func() func() bool) bool {
		req := e.full()
		e.running(req)
		struck := arm()
		if err := e.Provider.Deprovision(e.ctx, req.InstanceID); err == nil {
			e.Wait(func() bool {
				e.step()
				_, err := e.Provider.Status(e.ctx, req.InstanceID)
				return err != nil || e.ctx.Err() != nil
			})
		}
		hit := struck()
		if hit {
			e.Provider = e.Restart(true)
		}
		e.forget(req.InstanceID)
		return hit
	})
}

// forget removes an instance before the end of the case.
func (e *env) forget(instance id.ID) {
	e.Helper()
	e.remove(instance)
	for i, known := range e.made {
		if known == instance {
			e.made = append(e.made[:i], e.made[i+1:]...)
			return
		}
	}
}
