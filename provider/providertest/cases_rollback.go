package providertest

import (
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// rollbackCases are about the way back.
var rollbackCases = []Case{
	{Name: "Deploy/Rollback", Needs: needDeploy, run: rollback},
	{Name: "Deploy/RollbackToInitial", Needs: needDeploy, run: rollbackToInitial},
	{Name: "Deploy/RollbackUnknown", Needs: needDeploy, run: rollbackUnknown},
	{Name: "Deploy/RollbackAfterFailure", Needs: needDeploy, run: rollbackAfterFailure},
	{Name: "Deploy/RollbackNoGap", Needs: needDeploy, run: rollbackNoGap},
}

// rollback changes every field, adds some, and takes all of it back.
func rollback(e *env) {
	req, steps := e.rich()
	req.Services[0].Resources = provider.ResourceSpec{CPUMillis: 500, MemoryMB: 96}
	e.running(req)
	before := e.do(req.InstanceID, "web", 0, steps...)
	const other = port + 5
	e.secret(e.Tenant, "second", "open")
	e.deployed(req.InstanceID, e.change("web", e.Images.V2, func(d *provider.ServiceDeploySpec) {
		d.Command, d.Args = append([]string{e.Images.Program, "out:second"}, serving(other)...), []string{}
		d.Env = map[string]string{"SIZE": "large"}
		d.Secrets = []provider.SecretRef{{Key: "second", EnvKey: "SECOND"}}
		d.ConfigFiles = []provider.ConfigFile{{Name: "two", Path: "/etc/app/two", Content: "x"}}
		d.Ports, d.HealthCheck = []provider.PortSpec{{Container: other, Protocol: provider.ProtocolHTTP}}, health(other)
		d.Resources = &provider.ResourceSpec{CPUMillis: 250, MemoryMB: 64}
		d.User, d.WorkingDir = ptr("4321:4321"), ptr("/etc")
	}))
	if got := e.do(req.InstanceID, "web", 0, "env:SIZE", "env:SECOND", "read:/etc/app/two", "user", "pwd"); got != "large\nopen\nx4321:4321\n/etc" {
		e.Errorf("the second release says %q", got)
	}
	e.must(e.Provider.Rollback(e.ctx, req.InstanceID, id.Nil), "Rollback")
	st := e.ready(req.InstanceID)
	if want := req.InitialRelease(); st.ReleaseID != want || st.TargetReleaseID != want {
		e.Errorf("after a rollback release and target are %s and %s, want %s", st.ReleaseID, st.TargetReleaseID, want)
	}
	if got := e.do(req.InstanceID, "web", 0, steps...); got != before {
		e.Errorf("after a rollback the service says %q, it said %q", got, before)
	}
	for _, step := range []string{"env:SIZE", "env:SECOND", "read:/etc/app/two"} {
		if got, err := e.try(req.InstanceID, "web", 0, step); err == nil {
			e.Errorf("a rollback left %q for %s", got, step)
		}
	}
	if e.Inspect != nil {
		e.sized(req.InstanceID, limit{500, 96})
	}
}

// limit is the size of main's first container.
type limit struct{ cpu, memory int }

func rollbackToInitial(e *env) {
	req := e.request()
	req.Services[0].Env = map[string]string{"COLOUR": "red"}
	e.running(req)
	second := e.deployed(req.InstanceID, e.change("web", e.Images.V2, withEnv(map[string]string{"COLOUR": "blue"}))).ReleaseID
	e.deployed(req.InstanceID, e.change("web", e.Images.V2, withEnv(map[string]string{"COLOUR": "green"})))
	for _, to := range []struct {
		release id.ID
		want    string
	}{{req.InitialRelease(), "1\nred"}, {second, "2\nblue"}, {id.Nil, "1\nred"}} {
		e.must(e.Provider.Rollback(e.ctx, req.InstanceID, to.release), "Rollback")
		e.must(e.Provider.Rollback(e.ctx, req.InstanceID, e.status(req.InstanceID).TargetReleaseID), "Rollback, repeated")
		st := e.ready(req.InstanceID)
		if got := e.do(req.InstanceID, "web", 0, "env:VERSION", "env:COLOUR"); got != to.want {
			e.Errorf("after a rollback to %q version and variable are %q, want %q", to.release, got, to.want)
		}
		if !to.release.IsNil() && st.ReleaseID != to.release {
			e.Errorf("after a rollback to %s release %s serves", to.release, st.ReleaseID)
		}
	}
}

func rollbackUnknown(e *env) {
	req, other := e.request(), e.request()
	before := refs(e.running(req), "web")
	e.running(other)
	foreign := e.deployed(other.InstanceID, e.change("web", e.Images.V2)).ReleaseID
	for what, release := range map[string]id.ID{
		"that nobody has": id.New(id.KindRelease), "of another instance": foreign, "of another instance, its first,": other.InitialRelease(),
		"before the first": id.Nil,
	} {
		e.want(e.Provider.Rollback(e.ctx, req.InstanceID, release), provider.ErrNotFound, "Rollback to a release "+what)
	}
	e.unchanged(req.InstanceID, before)
}

func rollbackAfterFailure(e *env) {
	req := e.request()
	before := refs(e.running(req), "web")
	st := e.failNext(req, e.change("web", e.Images.V2, withArgs("exit:7")))
	bad := st.TargetReleaseID
	e.must(e.Provider.Rollback(e.ctx, req.InstanceID, req.InitialRelease()), "Rollback to the release that serves")
	st = e.ready(req.InstanceID)
	if st.Reason != "" || st.TargetReleaseID != req.InitialRelease() {
		e.Errorf("after a rollback of a release that failed the instance is %s", describe(st))
	}
	e.same(req.InstanceID, "web", before, "after a rollback to what served all the time")
	e.want(e.Provider.Rollback(e.ctx, req.InstanceID, bad), provider.ErrConflict, "Rollback to a release that never served")
	e.failNext(req, e.change("web", e.Images.V2, withArgs("exit:8")))
	e.must(e.Provider.Rollback(e.ctx, req.InstanceID, id.Nil), "Rollback to the release before the one that failed")
	st = e.ready(req.InstanceID)
	if st.Reason != "" || st.TargetReleaseID != req.InitialRelease() {
		e.Errorf("after a rollback, without an id, of a release that failed the instance is %s", describe(st))
	}
	e.same(req.InstanceID, "web", before, "after a rollback, without an id, to what served all the time")
}

func rollbackNoGap(e *env) {
	req := e.request(e.slow())
	e.running(req)
	e.deployed(req.InstanceID, e.change("web", e.Images.V2))
	p := e.probe(req.InstanceID, "web")
	e.must(e.Provider.Rollback(e.ctx, req.InstanceID, id.Nil), "Rollback")
	e.ready(req.InstanceID)
	p.noGap("a rollback")
	if got := e.do(req.InstanceID, "web", 0, "env:VERSION"); strings.TrimSpace(got) != "1" {
		e.Errorf("after a rollback version %q answers", got)
	}
}
