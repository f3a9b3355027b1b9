package providertest

import (
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

var needScale = []provider.Capability{provider.CapProvision, provider.CapScale}

// scaleCases are about the size of main.
var scaleCases = []Case{
	{Name: "Scale/ZeroKeeps", Needs: needScale, run: zeroKeeps},
	{Name: "Scale/Replicas", Needs: needScale, run: scaleReplicas},
	{Name: "Scale/CPU", Needs: needScale, run: scaleCPU},
	{Name: "Scale/Memory", Needs: needScale, run: scaleMemory},
	{Name: "Scale/Repeated", Needs: needScale, run: scaleRepeated},
	{Name: "Scale/Invalid", Needs: needScale, run: scaleInvalid},
	{Name: "Scale/SurvivesDeploy", Needs: append(needScale[:2:2], provider.CapDeploy), run: scaleSurvivesDeploy},
	{Name: "Scale/StatefulKeepsData", Needs: append(needScale[:2:2], provider.CapVolumes), run: scaleStateful},
	{Name: "Scale/OneWriter", Needs: append(needScale[:2:2], provider.CapVolumes), run: scaleOneWriter},
}

// scale is a Scale that must succeed, and the wait until it is done.
func (e *env) scale(instance id.ID, spec provider.ResourceSpec) *provider.InstanceStatus {
	e.Helper()
	e.must(e.Provider.Scale(e.ctx, instance, spec), "Scale")
	replicas := spec.Replicas
	return e.until(instance, "scaled", func(st *provider.InstanceStatus) bool {
		return st.Ready && st.State == provider.StateRunning && (replicas == 0 || len(refs(st, "web")) == replicas)
	})
}

// sized waits until every container of main has the limits.
func (e *env) sized(instance id.ID, want limit) {
	e.Helper()
	e.need(e.Inspect != nil, "way to inspect containers")
	var got []limit
	ok := e.Wait(func() bool {
		e.step()
		got = got[:0]
		good := true
		for _, c := range e.Inspect(instance) {
			if c.Service == "web" {
				got = append(got, limit{c.CPUMillis, c.MemoryMB})
				good = good && got[len(got)-1] == want
			}
		}
		return good && len(got) > 0 || e.ctx.Err() != nil
	})
	if !ok || e.ctx.Err() != nil {
		e.Errorf("the limits are %+v, want %+v", got, want)
	}
}

// runs waits until the orchestrator runs so many containers of an instance: what
// is not wanted may take a moment to end.
func (e *env) runs(instance id.ID, want int) {
	e.Helper()
	if e.Inspect == nil {
		return
	}
	var got int
	ok := e.Wait(func() bool { e.step(); got = len(e.Inspect(instance)); return got == want || e.ctx.Err() != nil })
	if !ok || e.ctx.Err() != nil {
		e.Errorf("the orchestrator runs %d containers, want %d", got, want)
	}
}

func zeroKeeps(e *env) {
	svc := times(e.web("web", provider.RoleMain, port), 2)
	svc.Resources.CPUMillis, svc.Resources.MemoryMB = 500, 96
	req := e.request(svc)
	before := refs(e.running(req), "web")
	e.scale(req.InstanceID, provider.ResourceSpec{})
	e.settle()
	e.ready(req.InstanceID)
	e.same(req.InstanceID, "web", before, "after a Scale that changes nothing")
	st := e.scale(req.InstanceID, provider.ResourceSpec{MemoryMB: 128})
	e.settle()
	if n := len(refs(e.ready(req.InstanceID), "web")); n != 2 {
		e.Errorf("a Scale of memory alone made %d replicas of 2: %s", n, describe(st))
	}
	e.sized(req.InstanceID, limit{500, 128})
}

func scaleReplicas(e *env) {
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	first := refs(e.running(req), "web")
	for _, n := range []int{3, 1, 2} {
		st := e.scale(req.InstanceID, provider.ResourceSpec{Replicas: n})
		if got := len(refs(st, "side")); got != n {
			e.Errorf("with %d replicas there are %d of the sidecar", n, got)
		}
		if len(refs(st, "web")) > 0 && refs(st, "web")[0] != first[0] {
			e.Errorf("a Scale of the number alone replaced replica 0")
		}
		for _, ep := range endpoints(st, "web", -1) {
			if _, err := e.ask(e.ctx, ep, "hostname"); err != nil {
				e.Errorf("with %d replicas the endpoint %s does not answer: %v", n, ep.URL, err)
			}
		}
		e.runs(req.InstanceID, 2*n)
	}
}

func scaleCPU(e *env) {
	e.need(e.Inspect != nil, "way to inspect containers")
	req := e.request()
	req.Services[0].Resources = provider.ResourceSpec{CPUMillis: 500, MemoryMB: 96}
	e.running(req)
	e.sized(req.InstanceID, limit{500, 96})
	e.scale(req.InstanceID, provider.ResourceSpec{CPUMillis: 250})
	e.sized(req.InstanceID, limit{250, 96})
}

func scaleMemory(e *env) {
	e.need(e.Inspect != nil, "way to inspect containers")
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	req.Services[0].Resources = provider.ResourceSpec{CPUMillis: 500, MemoryMB: 96}
	e.running(req)
	e.scale(req.InstanceID, provider.ResourceSpec{MemoryMB: 128})
	e.sized(req.InstanceID, limit{500, 128})
	for _, c := range e.Inspect(req.InstanceID) {
		if c.Service == "side" && (c.MemoryMB != 0 || c.CPUMillis != 0) {
			e.Errorf("a Scale of main limited the sidecar: %+v", c)
		}
	}
}

func scaleRepeated(e *env) {
	req := e.request()
	e.running(req)
	before := refs(e.scale(req.InstanceID, provider.ResourceSpec{Replicas: 2}), "web")
	e.scale(req.InstanceID, provider.ResourceSpec{Replicas: 2})
	e.settle()
	e.ready(req.InstanceID)
	e.same(req.InstanceID, "web", before, "after a repeated Scale")
}

func scaleInvalid(e *env) {
	req := e.request()
	before := refs(e.running(req), "web")
	for _, spec := range []provider.ResourceSpec{{Replicas: -1}, {Replicas: provider.MaxReplicas + 1}, {MemoryMB: -5}, {CPUMillis: -5}} {
		e.want(e.Provider.Scale(e.ctx, req.InstanceID, spec), provider.ErrInvalid, "Scale out of bounds")
	}
	e.unchanged(req.InstanceID, before)
}

func scaleSurvivesDeploy(e *env) {
	req := e.request()
	req.Services[0].Resources.MemoryMB = 96
	e.running(req)
	e.scale(req.InstanceID, provider.ResourceSpec{Replicas: 2, MemoryMB: 128})
	st := e.deployed(req.InstanceID, e.change("web", e.Images.V2))
	if n := len(refs(st, "web")); n != 2 {
		e.Errorf("after a Scale to 2 and a deploy of an image there are %d replicas", n)
	}
	if e.Inspect != nil {
		e.sized(req.InstanceID, limit{0, 128})
	}
}

func scaleStateful(e *env) {
	req := e.request(times(mounted(e.web("web", provider.RoleMain, port), false), 2))
	req.Kind = provider.KindStatefulSet
	e.running(req)
	for i := range 2 {
		e.do(req.InstanceID, "web", i, "write:/data/name:replica "+digits(i))
	}
	e.scale(req.InstanceID, provider.ResourceSpec{Replicas: 1})
	e.scale(req.InstanceID, provider.ResourceSpec{Replicas: 2})
	for i := range 2 {
		if got := e.do(req.InstanceID, "web", i, "read:/data/name"); got != "replica "+digits(i) {
			e.Errorf("after a Scale down and up replica %d has the data %q", i, got)
		}
	}
}

func scaleOneWriter(e *env) {
	req := e.request(e.writer())
	before := refs(e.running(req), "web")
	err := e.Provider.Scale(e.ctx, req.InstanceID, provider.ResourceSpec{Replicas: 2})
	e.want(err, provider.ErrInvalid, "Scale to two writers of one volume")
	e.unchanged(req.InstanceID, before)
	e.alone(req.InstanceID)
}
