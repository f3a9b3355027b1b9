package providertest

import (
	"errors"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/provider"
)

// keptCases are about volumes that are a tenant's.
var keptCases = []Case{
	{Name: "Kept/Stays", Needs: needKept, run: keptStays},
	{Name: "Kept/Tenants", Needs: needKept, run: keptTenants},
	{Name: "Kept/Remove", Needs: needKept, run: keptRemove},
	{Name: "Kept/OneWriter", Needs: needKept, run: keptOneWriter},
	{Name: "Kept/Usage", Needs: needKept, run: keptUsage},
	{Name: "Kept/Scale", Needs: append(needKept[:2:2], provider.CapScale), run: keptScale},
	{Name: "Kept/Rollback", Needs: append(needKept[:2:2], provider.CapDeploy), run: keptRollback},
	{Name: "Kept/Invalid", Needs: needKept, run: keptInvalid},
	{Name: "Kept/RepeatedAfterFailure", Needs: needKept, run: keptAfterFailure},
	{Name: "Kept/RepeatedAfterCrash", Needs: needKept, run: keptAfterCrash},
}

var needKept = []provider.Capability{provider.CapProvision, provider.CapKeptVolumes}

// keeper is the provider, which lists that it is one.
func (e *env) keeper() provider.VolumeKeeper {
	e.Helper()
	k, ok := e.Provider.(provider.VolumeKeeper)
	if !ok {
		e.Fatalf("the provider lists %q and does not implement VolumeKeeper", provider.CapKeptVolumes)
	}
	return k
}

// keeping asks for a stateful set with a volume of the tenant for each replica, which
// the case removes in the end.
func (e *env) keeping(tenant string, replicas int, ids ...string) provider.ProvisionRequest {
	req := e.request(times(mounted(e.web("web", provider.RoleMain, port), false), replicas))
	req.Kind, req.TenantID = provider.KindStatefulSet, tenant
	req.Services[0].Volumes[0].IDs = ids
	for _, volume := range ids {
		if v := (provider.KeptVolume{ID: volume, TenantID: tenant}); !slices.Contains(e.kept, v) {
			e.kept = append(e.kept, v)
		}
	}
	return req
}

// removeKept removes the volumes of a case whose instances are gone.
func (e *env) removeKept() {
	k, ok := e.Provider.(provider.VolumeKeeper)
	if !ok || len(e.kept) == 0 {
		return
	}
	for _, v := range e.kept {
		if err := k.RemoveKeptVolume(e.ctx, v.TenantID, v.ID); err != nil && !errors.Is(err, provider.ErrNotFound) {
			e.Errorf("RemoveKeptVolume of %s: %v", v.ID, err)
		}
	}
	for _, v := range e.kept {
		if left := e.volumes(v.TenantID); len(left) > 0 {
			e.Errorf("in the end %s has the volumes %q", v.TenantID, left)
			return
		}
	}
}

// volumes are the ids of a tenant's volumes.
func (e *env) volumes(tenant string) []string {
	e.Helper()
	list, err := e.keeper().KeptVolumes(e.ctx, tenant)
	e.must(err, "KeptVolumes")
	if !slices.IsSortedFunc(list, provider.KeptVolume.Compare) {
		e.Errorf("KeptVolumes are not sorted by id: %+v", list)
	}
	var ids []string
	for _, v := range list {
		if tenant != "" && v.TenantID != tenant {
			e.Errorf("among the volumes of %s is %+v", tenant, v)
		}
		ids = append(ids, v.ID)
	}
	return ids
}

func (e *env) wantVolumes(tenant, when string, ids ...string) {
	e.Helper()
	if got := e.volumes(tenant); !slices.Equal(got, ids) {
		e.Errorf("%s the tenant has the volumes %q, want %q", when, got, ids)
	}
}

// keptStays: what a replica wrote is there for another instance, and for the replica
// that its volume is given to.
func keptStays(e *env) {
	req := e.keeping(e.Tenant, 2, "conf-b", "conf-a", "conf-spare")
	e.running(req)
	e.wantVolumes(e.Tenant, "with two replicas", "conf-a", "conf-b")
	e.do(req.InstanceID, "web", 0, "write:/data/name:first")
	e.do(req.InstanceID, "web", 1, "write:/data/name:second")
	e.must(e.Provider.Stop(e.ctx, req.InstanceID), "Stop")
	e.stopped(req.InstanceID)
	e.must(e.Provider.Start(e.ctx, req.InstanceID), "Start")
	e.ready(req.InstanceID)
	if got := e.do(req.InstanceID, "web", 0, "read:/data/name"); got != "first" {
		e.Errorf("after Stop and Start the first replica has the data %q", got)
	}
	e.remove(req.InstanceID)
	e.wantVolumes(e.Tenant, "after Deprovision", "conf-a", "conf-b")
	next := e.keeping(e.Tenant, 1, "conf-a")
	e.running(next)
	if got := e.do(next.InstanceID, "web", 0, "read:/data/name"); got != "second" {
		e.Errorf("in another instance the second replica's volume holds %q", got)
	}
}

// keptTenants: one id of two tenants is two volumes.
func keptTenants(e *env) {
	mine, theirs := e.keeping(e.Tenant, 1, "conf-v"), e.keeping(e.Tenant+"-other", 1, "conf-v")
	e.running(mine)
	e.do(mine.InstanceID, "web", 0, "write:/data/name:mine")
	e.running(theirs)
	e.do(theirs.InstanceID, "web", 0, "write:/data/name:theirs")
	if got := e.do(mine.InstanceID, "web", 0, "read:/data/name"); got != "mine" {
		e.Errorf("beside another tenant's the volume holds %q", got)
	}
	e.wantVolumes(mine.TenantID, "beside another tenant", "conf-v")
	e.wantVolumes(theirs.TenantID, "beside another tenant", "conf-v")
	if n := len(e.volumes("")); n < 2 {
		e.Errorf("all tenants together have %d volumes", n)
	}
	e.remove(mine.InstanceID)
	e.want(e.keeper().RemoveKeptVolume(e.ctx, e.Tenant+"-nobody", "conf-v"), provider.ErrNotFound, "RemoveKeptVolume of a tenant who has none of that id")
	e.must(e.keeper().RemoveKeptVolume(e.ctx, mine.TenantID, "conf-v"), "RemoveKeptVolume")
	if got := e.do(theirs.InstanceID, "web", 0, "read:/data/name"); got != "theirs" {
		e.Errorf("after one tenant's volume was removed the other's holds %q", got)
	}
	e.wantVolumes(theirs.TenantID, "after another's was removed", "conf-v")
}

func keptRemove(e *env) {
	req := e.keeping(e.Tenant, 1, "conf-v")
	e.running(req)
	e.do(req.InstanceID, "web", 0, "write:/data/name:old")
	k := e.keeper()
	e.want(k.RemoveKeptVolume(e.ctx, e.Tenant, "conf-v"), provider.ErrBusy, "RemoveKeptVolume while it is in use")
	if got := e.do(req.InstanceID, "web", 0, "read:/data/name"); got != "old" {
		e.Errorf("after a removal that was refused the volume holds %q", got)
	}
	e.remove(req.InstanceID)
	for range 2 {
		e.must(k.RemoveKeptVolume(e.ctx, e.Tenant, "conf-v"), "RemoveKeptVolume")
		e.wantVolumes(e.Tenant, "after its removal")
	}
	e.must(k.RemoveKeptVolume(e.ctx, e.Tenant, "conf-never"), "RemoveKeptVolume of what never was")
	next := e.keeping(e.Tenant, 1, "conf-v")
	e.running(next)
	if got, err := e.try(next.InstanceID, "web", 0, "read:/data/name"); err == nil {
		e.Errorf("a volume that was removed and made again holds %q", got)
	}
}

// keptOneWriter: a second instance neither starts beside the first nor harms it, and
// has the volume once the first is gone.
func keptOneWriter(e *env) {
	first, second := e.keeping(e.Tenant, 1, "conf-v"), e.keeping(e.Tenant, 1, "conf-v")
	second.Rollout.ReadyTimeout = wait
	e.running(first)
	e.do(first.InstanceID, "web", 0, "write:/data/name:first")
	e.know(second.InstanceID)
	_, err := e.Provider.Provision(e.ctx, second)
	if err != nil && !errors.Is(err, provider.ErrBusy) {
		e.Errorf("Provision beside a writer of its volume returned %v", err)
	}
	for range 3 {
		e.settle()
		if e.Inspect != nil && len(e.Inspect(second.InstanceID)) > 0 {
			e.Fatalf("two instances that may write one volume run at once")
		}
		st, err := e.Provider.Status(e.ctx, second.InstanceID)
		switch {
		case errors.Is(err, provider.ErrNotFound):
		case err != nil:
			e.Errorf("Status beside a writer of its volume: %v", err)
		case st.Ready || st.Available || st.Reason != provider.ReasonVolumeInUse:
			e.Fatalf("beside a writer of its volume the instance is %s", describe(st))
		case strings.TrimSpace(st.Message) == "":
			e.Errorf("the status has no message")
		}
	}
	if got := e.do(first.InstanceID, "web", 0, "read:/data/name"); got != "first" {
		e.Errorf("the first instance's volume holds %q", got)
	}
	e.remove(first.InstanceID)
	e.running(second)
	if got := e.do(second.InstanceID, "web", 0, "read:/data/name"); got != "first" {
		e.Errorf("after the first instance the volume holds %q", got)
	}
}

func keptUsage(e *env) {
	const size = 200_000
	req := e.keeping(e.Tenant, 2, "conf-a", "conf-b")
	e.running(req)
	e.do(req.InstanceID, "web", 0, "write:/data/much:"+strings.Repeat("x", size/100))
	for range 99 {
		e.do(req.InstanceID, "web", 0, "append:/data/much:"+strings.Repeat("x", size/100))
	}
	usage, err := e.keeper().KeptVolumeUsage(e.ctx, e.Tenant, []string{"conf-a", "conf-b", "conf-never"})
	e.must(err, "KeptVolumeUsage")
	if usage["conf-a"] < size || usage["conf-a"] > 10*size || usage["conf-b"] >= size {
		e.Errorf("one volume holds %d bytes and the other none, and the measurement is %v", size, usage)
	}
	if _, measured := usage["conf-never"]; measured {
		e.Errorf("a volume that is not there is measured: %v", usage)
	}
	others, err := e.keeper().KeptVolumeUsage(e.ctx, e.Tenant+"-other", []string{"conf-a"})
	e.must(err, "KeptVolumeUsage for another tenant")
	if len(others) > 0 {
		e.Errorf("another tenant's volume is measured: %v", others)
	}
}

func keptScale(e *env) {
	req := e.keeping(e.Tenant, 1, "conf-a", "conf-b")
	e.running(req)
	e.wantVolumes(e.Tenant, "with one replica", "conf-a")
	e.must(e.Provider.Scale(e.ctx, req.InstanceID, provider.ResourceSpec{Replicas: 2}), "Scale")
	e.until(req.InstanceID, "ready in two replicas", func(st *provider.InstanceStatus) bool {
		return st.Ready && len(refs(st, "web")) == 2
	})
	e.wantVolumes(e.Tenant, "with two replicas", "conf-a", "conf-b")
	e.want(e.Provider.Scale(e.ctx, req.InstanceID, provider.ResourceSpec{Replicas: 3}), provider.ErrInvalid, "Scale beyond the ids of its volumes")
	if n := len(refs(e.ready(req.InstanceID), "web")); n != 2 {
		e.Errorf("after a Scale that was refused there are %d replicas", n)
	}
}

// keptRollback: a release has the volumes that it names, and keeps them.
func keptRollback(e *env) {
	req := e.keeping(e.Tenant, 1, "conf-a")
	e.running(req)
	e.do(req.InstanceID, "web", 0, "write:/data/name:a")
	other := e.keeping(e.Tenant, 1, "conf-b").Services[0].Volumes
	e.deployed(req.InstanceID, e.change("web", e.Images.V2, func(d *provider.ServiceDeploySpec) { d.Volumes = other }))
	if got, err := e.try(req.InstanceID, "web", 0, "read:/data/name"); err == nil {
		e.Errorf("the other volume holds %q", got)
	}
	e.deployed(req.InstanceID, e.change("web", e.Images.V1)) // nil keeps the ids
	if got, err := e.try(req.InstanceID, "web", 0, "read:/data/name"); err == nil {
		e.Errorf("after a deploy that kept the volumes the other one holds %q", got)
	}
	e.must(e.Provider.Rollback(e.ctx, req.InstanceID, req.InitialRelease()), "Rollback")
	e.until(req.InstanceID, "ready in its first release", func(st *provider.InstanceStatus) bool {
		return st.Ready && st.ReleaseID == req.InitialRelease()
	})
	if got := e.do(req.InstanceID, "web", 0, "read:/data/name"); got != "a" {
		e.Errorf("after the rollback the volume holds %q", got)
	}
	e.wantVolumes(e.Tenant, "after the rollback", "conf-a", "conf-b")
}

func keptInvalid(e *env) {
	for what, spoil := range map[string]func(*provider.ProvisionRequest){
		"a deployment with ids":   func(r *provider.ProvisionRequest) { r.Kind = provider.KindDeployment },
		"ids without a tenant":    func(r *provider.ProvisionRequest) { r.TenantID = "" },
		"fewer ids than replicas": func(r *provider.ProvisionRequest) { r.Services[0].Resources.Replicas = 2 },
		"an id that is a path":    func(r *provider.ProvisionRequest) { r.Services[0].Volumes[0].IDs = []string{"../../x"} },
	} {
		req := e.keeping(e.Tenant, 1, "conf-v")
		spoil(&req)
		e.know(req.InstanceID)
		_, err := e.Provider.Provision(e.ctx, req)
		e.want(err, provider.ErrInvalid, "Provision of "+what)
		e.wantVolumes(e.Tenant, "after a request for "+what)
	}
}

// keptAfterFailure: a call fails, before or after its effect, and the repetition finds
// or makes each volume once.
func keptAfterFailure(e *env) {
	e.eachFault(failures, func(_ Fault, arm func() func() bool) bool {
		return e.keptOnce(arm, func(req provider.ProvisionRequest, hit func() bool) {
			if _, err := e.Provider.Provision(e.ctx, req); err != nil && !hit() {
				e.Errorf("Provision failed without a fault: %v", err)
			}
		})
	})
}

// keptAfterCrash: the process dies at a call, and the one that follows does so.
func keptAfterCrash(e *env) {
	e.need(e.Restart != nil, "way to restart the provider")
	e.eachFault(cuts, func(_ Fault, arm func() func() bool) bool {
		return e.keptOnce(arm, func(req provider.ProvisionRequest, hit func() bool) {
			if _, err := e.Provider.Provision(e.ctx, req); err == nil {
				e.drive(req.InstanceID)
			}
			if hit() {
				e.Provider = e.Restart(true)
			}
		})
	})
}

// keptOnce makes an instance and a fault meanwhile, makes it again and looks at its
// volumes, and removes all that. It returns whether the fault struck.
func (e *env) keptOnce(arm func() func() bool, meet func(req provider.ProvisionRequest, hit func() bool)) bool {
	e.Helper()
	req := e.keeping(e.Tenant, 2, "conf-a", "conf-b")
	e.know(req.InstanceID)
	struck, known := arm(), false
	hit := func() bool { known = struck() || known; return known }
	meet(req, hit)
	again := func() error { _, err := e.Provider.Provision(e.ctx, req); return err }
	if err := again(); err != nil { // the fault may strike now
		e.must(again(), "Provision, repeated after "+err.Error())
	}
	e.converge(req.InstanceID, again)
	struckOnce := hit() // and strikes no more
	e.wantVolumes(e.Tenant, "after a call that failed", "conf-a", "conf-b")
	e.forget(req.InstanceID)
	for _, volume := range []string{"conf-a", "conf-b"} {
		e.must(e.keeper().RemoveKeptVolume(e.ctx, e.Tenant, volume), "RemoveKeptVolume")
	}
	return struckOnce
}
