package providertest

import (
	"context"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// deprovisionCases are about the end.
var deprovisionCases = []Case{
	{Name: "Deprovision/NotFound", Needs: needProvision, run: deprovisionNothing},
	{Name: "Deprovision/AllMethodsAfter", Needs: needProvision, run: allMethodsAfter},
	{Name: "Deprovision/LeavesNothing", Needs: needProvision, run: leavesNothing},
	{Name: "Deprovision/DuringRollout", Needs: needDeploy, run: deprovisionRolling},
	{Name: "Deprovision/DuringProvision", Needs: needProvision, run: deprovisionStarting},
	{Name: "Deprovision/OfAStopped", Needs: needProvision, run: deprovisionStopped},
	{Name: "Deprovision/LeavesOthers", Needs: needProvision, run: leavesOthers},
	{Name: "Deprovision/ThenProvision", Needs: needVolumes, run: deprovisionThenProvision},
}

func deprovisionNothing(e *env) {
	for range 2 {
		e.must(e.Provider.Deprovision(e.ctx, id.New(id.KindWorkload)), "Deprovision of an instance that never was")
	}
	req := e.request()
	e.running(req)
	e.remove(req.InstanceID)
	e.must(e.Provider.Deprovision(e.ctx, req.InstanceID), "Deprovision, repeated")
}

func allMethodsAfter(e *env) {
	req := e.request()
	e.running(req)
	e.remove(req.InstanceID)
	e.allNotFound(req.InstanceID, "after Deprovision")
	if stepper, ok := e.Provider.(provider.Stepper); ok {
		if again, err := stepper.Step(e.ctx, req.InstanceID); err != nil || again != 0 {
			e.Errorf("Step after Deprovision returned %s, %v", again, err)
		}
	}
}

// leavesNothing makes everything that an instance can have, with releases and
// replicas, and looks for it afterwards.
func leavesNothing(e *env) {
	req := e.full()
	req.Network = "shared"
	if e.has(provider.CapVolumes) {
		req.Kind = provider.KindStatefulSet
		req.Services[1].Resources.Replicas = 2
	}
	st := e.running(req)
	if e.Leftovers != nil && len(e.Leftovers(req.InstanceID)) == 0 {
		e.Errorf("the fixture finds nothing with the instance's mark while it runs")
	}
	if e.has(provider.CapDeploy) {
		st = e.deployed(req.InstanceID, e.change("web", e.Images.V2))
	}
	ways := st.Endpoints
	e.remove(req.InstanceID) // which looks for what is left
	e.noneAnswers(ways, "after Deprovision")
	if e.Inspect != nil {
		if n := len(e.Inspect(req.InstanceID)); n > 0 {
			e.Errorf("the orchestrator runs %d containers after Deprovision", n)
		}
	}
}

func deprovisionRolling(e *env) {
	req := e.request(e.slow(), e.web("side", provider.RoleSidecar, port+1))
	e.running(req)
	dep := e.next(req.InstanceID, "")
	dep.Services[0].Args = serving(port, "unhealthy")
	dep.Rollout = &provider.RolloutSpec{ReadyTimeout: time.Hour}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); _, _ = e.Provider.Deploy(ctx, dep) }()
	e.until(req.InstanceID, "rolling", func(st *provider.InstanceStatus) bool { return st.TargetReleaseID == dep.ReleaseID })
	e.remove(req.InstanceID)
	cancel()
	<-done
	e.leaves(req.InstanceID, "a Deprovision during a rollout")
	e.allNotFound(req.InstanceID, "after a Deprovision during a rollout")
}

func deprovisionStarting(e *env) {
	req := e.full()
	req.Services[0].Args = []string{"sleep:1h"}
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	e.know(req.InstanceID)
	done := make(chan struct{})
	go func() { defer close(done); _, _ = e.Provider.Provision(ctx, req) }()
	e.until(req.InstanceID, "known", func(st *provider.InstanceStatus) bool {
		r := st.Services["prepare"].Replicas
		return len(r) == 1 && r[0].StartedAt != nil
	})
	e.remove(req.InstanceID)
	cancel()
	<-done
	e.leaves(req.InstanceID, "a Deprovision during Provision")
}

func deprovisionStopped(e *env) {
	req := e.full()
	e.running(req)
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
	e.stopped(req.InstanceID)
	e.remove(req.InstanceID)
	e.allNotFound(req.InstanceID, "after Deprovision")
}

func leavesOthers(e *env) {
	mine, other := on(e.full(), "shared", "shop", e.Tenant), on(e.full(), "shared", "stock", e.Tenant)
	e.running(mine)
	before := refs(e.running(other), "web")
	if e.has(provider.CapVolumes) {
		e.do(other.InstanceID, "web", 0, "write:/data/kept:yes")
	}
	e.remove(mine.InstanceID)
	e.unchanged(other.InstanceID, before)
	if e.has(provider.CapVolumes) {
		if got := e.do(other.InstanceID, "web", 0, "read:/data/kept"); got != "yes" {
			e.Errorf("Deprovision of one instance left %q of the data of another", got)
		}
	}
	e.must(e.Provider.Restart(e.ctx, other.InstanceID), "Restart of the other instance")
	e.ready(other.InstanceID)
	if got := e.do(other.InstanceID, "web", 0, "env:TOKEN", "read:/etc/app/conf"); got != "sesame\ncolour=red" {
		e.Errorf("Deprovision of one instance left %q of the secrets of another", got)
	}
}

func deprovisionThenProvision(e *env) {
	req := e.request(e.writer())
	e.running(req)
	e.do(req.InstanceID, "web", 0, "write:/data/kept:yes")
	e.remove(req.InstanceID)
	req.Services[0].Env = map[string]string{"COLOUR": "blue"}
	e.running(req)
	if got, err := e.try(req.InstanceID, "web", 0, "read:/data/kept"); err == nil {
		e.Errorf("an instance that is new holds %q of the one before", got)
	}
}
