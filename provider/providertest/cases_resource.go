package providertest

import "github.com/berth-cloud/berth/provider"

// resourceCases are about Resources.
var resourceCases = []Case{
	{Name: "Resources/Move", Needs: needProvision, run: resourcesMove},
	{Name: "Resources/Limit", Needs: needProvision, run: resourcesLimit},
}

// usage waits for a measurement.
func (e *env) usage(req provider.ProvisionRequest, what string, cond func(*provider.ResourceUsage) bool) {
	e.Helper()
	var use *provider.ResourceUsage
	var err error
	ok := e.Wait(func() bool {
		e.step()
		use, err = e.Provider.Resources(e.ctx, req.InstanceID)
		return err == nil && use != nil && cond(use) || e.ctx.Err() != nil
	})
	if !ok || e.ctx.Err() != nil {
		e.Errorf("the instance does not use %s: %+v, %v", what, use, err)
	}
}

func resourcesMove(e *env) {
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	e.running(req)
	e.usage(req, "little while it is idle", func(u *provider.ResourceUsage) bool {
		return u.CPUPercent < 20 && u.MemoryUsedMB < 60
	})
	e.do(req.InstanceID, "web", 0, "eat:64")
	e.usage(req, "64 MB more", func(u *provider.ResourceUsage) bool { return u.MemoryUsedMB >= 60 })
	e.do(req.InstanceID, "side", 0, "eat:64")
	e.usage(req, "128 MB in two services", func(u *provider.ResourceUsage) bool { return u.MemoryUsedMB >= 124 })
	e.do(req.InstanceID, "web", 0, "burn")
	e.usage(req, "a part of a CPU", func(u *provider.ResourceUsage) bool { return u.CPUPercent > 25 })
}

func resourcesLimit(e *env) {
	req := e.request(times(e.web("web", provider.RoleMain, port), 2), e.web("side", provider.RoleSidecar, port+1))
	req.Services[0].Resources.MemoryMB, req.Services[1].Resources.MemoryMB = 96, 64
	e.running(req)
	e.usage(req, "limits of 2 times 96 and 64 MB", func(u *provider.ResourceUsage) bool { return u.MemoryLimitMB == 320 })
}
