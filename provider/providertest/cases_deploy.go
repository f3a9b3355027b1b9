package providertest

import (
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

var needDeploy = []provider.Capability{provider.CapProvision, provider.CapDeploy}

// deployCases are about what a Deploy changes and what it leaves.
var deployCases = []Case{
	{Name: "Deploy/Image", Needs: needDeploy, run: deployImage},
	{Name: "Deploy/EnvOnly", Needs: needDeploy, run: deployEnvOnly},
	{Name: "Deploy/CommandOnly", Needs: needDeploy, run: deployCommandOnly},
	{Name: "Deploy/UnlistedStay", Needs: needDeploy, run: unlistedStay},
	{Name: "Deploy/NilKeeps", Needs: needDeploy, run: nilKeeps},
	{Name: "Deploy/EmptyReplaces", Needs: needDeploy, run: emptyReplaces},
	{Name: "Deploy/UnknownService", Needs: needDeploy, run: unknownService},
	{Name: "Deploy/Empty", Needs: needDeploy, run: deployEmpty},
	{Name: "Deploy/Invalid", Needs: needDeploy, run: deployInvalid},
	{Name: "Deploy/Repeated", Needs: needDeploy, run: deployRepeated},
	{Name: "Deploy/Conflict", Needs: needDeploy, run: deployConflict},
	{Name: "Deploy/Endpoints", Needs: needDeploy, run: deployEndpoints},
	{Name: "Deploy/Ports", Needs: needDeploy, run: deployPorts},
}

func digits(n int) string { return strconv.Itoa(n) }

func deployImage(e *env) {
	req := e.request()
	before := refs(e.running(req), "web")
	if v := e.do(req.InstanceID, "web", 0, "env:VERSION"); v != "1" {
		e.Fatalf("the first release is version %q", v)
	}
	st := e.deployed(req.InstanceID, e.change("web", e.Images.V2))
	if v := e.do(req.InstanceID, "web", 0, "env:VERSION"); v != "2" {
		e.Errorf("after the deploy of version 2 version %q answers", v)
	}
	if now := refs(st, "web"); len(now) != 1 || now[0] == before[0] {
		e.Errorf("after a deploy the containers are %q, before they were %q", now, before)
	}
}

func deployEnvOnly(e *env) {
	req := e.request()
	req.Services[0].Env = map[string]string{"COLOUR": "red", "SIZE": "large"}
	e.running(req)
	e.deployed(req.InstanceID, e.change("web", e.Images.V1, withEnv(map[string]string{"COLOUR": "blue"})))
	if got := e.do(req.InstanceID, "web", 0, "env:COLOUR"); got != "blue" {
		e.Errorf("after a deploy of a variable alone it is %q", got)
	}
	if got, err := e.try(req.InstanceID, "web", 0, "env:SIZE"); err == nil {
		e.Errorf("a variable that the deploy did not list is still %q", got)
	}
}

func deployCommandOnly(e *env) {
	req := e.request()
	e.running(req)
	e.deployed(req.InstanceID, e.change("web", e.Images.V1, withArgs(serving(port, "out:another")...)))
	if got := e.do(req.InstanceID, "web", 0, "args"); !strings.Contains(got, "out:another") {
		e.Errorf("after a deploy of arguments alone they are %s", got)
	}
	e.deployed(req.InstanceID, e.change("web", e.Images.V1, func(d *provider.ServiceDeploySpec) {
		d.Command = append([]string{e.Images.Program, "out:command"}, serving(port)...)
		d.Args = []string{}
	}))
	if got := e.do(req.InstanceID, "web", 0, "args"); !strings.Contains(got, "out:command") || strings.Contains(got, "out:another") {
		e.Errorf("after a deploy of a command alone the arguments are %s", got)
	}
}

func unlistedStay(e *env) {
	side := e.web("side", provider.RoleSidecar, port+1)
	side.Env = map[string]string{"COLOUR": "red"}
	side.Args = serving(port+1, "out:sidecar")
	req := e.request(e.web("web", provider.RoleMain, port), side)
	e.running(req)
	e.deployed(req.InstanceID, e.change("web", e.Images.V2))
	if got := e.do(req.InstanceID, "side", 0, "env:VERSION", "env:COLOUR", "args"); !strings.HasPrefix(got, "1\nred\n") || !strings.Contains(got, "out:sidecar") {
		e.Errorf("the sidecar, which the deploy did not list, is now %q", got)
	}
	e.deployed(req.InstanceID, e.change("side", e.Images.V2))
	if got := e.do(req.InstanceID, "web", 0, "env:VERSION"); got != "2" {
		e.Errorf("main, which the second deploy did not list, has the version %q", got)
	}
}

// rich is a request with every field that a container can be asked about, and
// the steps that ask.
func (e *env) rich() (provider.ProvisionRequest, []string) {
	svc := e.web("web", provider.RoleMain, port)
	svc.Command = append([]string{e.Images.Program, "out:command"}, serving(port)...)
	svc.Args = []string{"out:never"}
	svc.Env = map[string]string{"COLOUR": "red"}
	e.secret(e.Tenant, "token", "sesame")
	svc.Secrets = []provider.SecretRef{{Key: "token", EnvKey: "TOKEN"}}
	svc.ConfigFiles = []provider.ConfigFile{{Name: "conf", Path: "/etc/app/conf", Content: "shape=round\n"}}
	svc.User, svc.WorkingDir = "1234:1234", "/tmp"
	steps := []string{"env:VERSION", "args", "env:COLOUR", "env:TOKEN", "read:/etc/app/conf", "user", "pwd"}
	if e.has(provider.CapVolumes) {
		svc.Tmpfs = []provider.TmpfsSpec{{MountPath: "/scratch", SizeMB: 4}}
		steps = append(steps, "write:/scratch/x:kept", "read:/scratch/x")
	}
	return e.request(svc), steps
}

func nilKeeps(e *env) {
	req, steps := e.rich()
	e.running(req)
	before := e.do(req.InstanceID, "web", 0, steps...)
	if !strings.Contains(before, "red\nsesame\nshape=round\n1234:1234\n/tmp") {
		e.Fatalf("what was provisioned is not there: %q", before)
	}
	e.deployed(req.InstanceID, e.change("web", e.Images.V2))
	after := e.do(req.InstanceID, "web", 0, steps...)
	if want := "2" + strings.TrimPrefix(before, "1"); after != want {
		e.Errorf("a deploy of an image alone made %q of %q", after, before)
	}
}

func emptyReplaces(e *env) {
	req, _ := e.rich()
	e.running(req)
	e.deployed(req.InstanceID, e.change("web", e.Images.V1, func(d *provider.ServiceDeploySpec) {
		d.Env, d.Secrets, d.ConfigFiles = map[string]string{}, []provider.SecretRef{}, []provider.ConfigFile{}
		d.Command, d.Args = []string{}, serving(port)
		d.User = ptr("")
	}))
	for _, step := range []string{"env:COLOUR", "env:TOKEN", "read:/etc/app/conf"} {
		if got, err := e.try(req.InstanceID, "web", 0, step); err == nil {
			e.Errorf("a deploy that replaced it by nothing left %q for %s", got, step)
		}
	}
	if got := e.do(req.InstanceID, "web", 0, "args"); strings.Contains(got, "command") {
		e.Errorf("a deploy of an empty command left the arguments %s", got)
	}
	if got := e.do(req.InstanceID, "web", 0, "user"); strings.HasPrefix(got, "1234:") {
		e.Errorf("a deploy of an empty user left the user %s", got)
	}
}

func unknownService(e *env) {
	req := e.request()
	before := refs(e.running(req), "web")
	_, err := e.Provider.Deploy(e.ctx, provider.DeployRequest{
		InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease),
		Services: []provider.ServiceDeploySpec{e.change("web", e.Images.V2), e.change("nobody", e.Images.V2)},
	})
	e.want(err, provider.ErrInvalid, "Deploy of a service that the instance does not have")
	e.unchanged(req.InstanceID, before)
}

// unchanged fails when a request that was refused had an effect.
func (e *env) unchanged(instance id.ID, before []string) {
	e.Helper()
	e.settle()
	st := e.status(instance)
	if !st.Ready || st.Reason != "" || st.ReleaseID != st.TargetReleaseID {
		e.Errorf("after a request that was refused the instance is %s", describe(st))
	}
	e.same(instance, "web", before, "after a request that was refused")
}

func deployEmpty(e *env) {
	req := e.request()
	before := refs(e.running(req), "web")
	_, err := e.Provider.Deploy(e.ctx, provider.DeployRequest{InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease)})
	e.want(err, provider.ErrInvalid, "Deploy of no service")
	e.unchanged(req.InstanceID, before)
}

func deployInvalid(e *env) {
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	before := refs(e.running(req), "web")
	for what, d := range map[string]provider.ServiceDeploySpec{
		"a relative path": e.change("web", e.Images.V2, func(d *provider.ServiceDeploySpec) {
			d.ConfigFiles = []provider.ConfigFile{{Name: "conf", Path: "etc/conf", Content: "x"}}
		}),
		"the port of another member": e.change("web", e.Images.V2, func(d *provider.ServiceDeploySpec) {
			d.Ports, d.HealthCheck = []provider.PortSpec{{Container: port + 1}}, &provider.HealthCheckSpec{}
		}),
		"negative memory": e.change("web", e.Images.V2, func(d *provider.ServiceDeploySpec) {
			d.Resources = &provider.ResourceSpec{MemoryMB: -1}
		}),
	} {
		_, err := e.Provider.Deploy(e.ctx, provider.DeployRequest{
			InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{d},
		})
		e.want(err, provider.ErrInvalid, "Deploy of "+what)
	}
	e.unchanged(req.InstanceID, before)
}

func deployRepeated(e *env) {
	req := e.request()
	e.running(req)
	dep := provider.DeployRequest{
		InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{e.change("web", e.Images.V2)},
	}
	e.deploy(dep)
	e.deploy(dep) // while it may still be on its way
	before := refs(e.ready(req.InstanceID), "web")
	e.deploy(dep)
	e.settle()
	if st := e.ready(req.InstanceID); st.ReleaseID != dep.ReleaseID {
		e.Errorf("after three deploys of release %s release %s serves", dep.ReleaseID, st.ReleaseID)
	}
	e.same(req.InstanceID, "web", before, "after a repeated Deploy")
}

func deployConflict(e *env) {
	req := e.request()
	e.running(req)
	dep := provider.DeployRequest{
		InstanceID: req.InstanceID, ReleaseID: id.New(id.KindRelease), Services: []provider.ServiceDeploySpec{e.change("web", e.Images.V2)},
	}
	e.deploy(dep)
	before := refs(e.ready(req.InstanceID), "web")
	dep.Services = []provider.ServiceDeploySpec{e.change("web", e.Images.V2, withEnv(map[string]string{"COLOUR": "blue"}))}
	_, err := e.Provider.Deploy(e.ctx, dep)
	e.want(err, provider.ErrConflict, "Deploy of other services under the same release")
	e.unchanged(req.InstanceID, before)
}

func deployEndpoints(e *env) {
	req := e.request(times(e.web("web", provider.RoleMain, port), 2))
	e.running(req)
	release := id.New(id.KindRelease)
	res, err := e.Provider.Deploy(e.ctx, provider.DeployRequest{
		InstanceID: req.InstanceID, ReleaseID: release, Services: []provider.ServiceDeploySpec{e.change("web", e.Images.V2)},
	})
	e.must(err, "Deploy")
	if res.Endpoints != nil && len(res.Endpoints) == 0 {
		e.Errorf("a deploy of an instance that has ways in says that there are none")
	}
	st := e.ready(req.InstanceID)
	all := endpoints(st, "web", -1)
	if len(all) == 0 {
		e.Errorf("after a deploy there is no endpoint")
	}
	for _, ep := range all {
		if said, err := e.ask(e.ctx, ep, "env:VERSION"); err != nil || strings.TrimSpace(said) != "2" {
			e.Errorf("after the deploy of version 2 the endpoint %s answers %q, %v", ep.URL, said, err)
		}
	}
}

func deployPorts(e *env) {
	req := e.request()
	e.running(req)
	const other = port + 5
	e.deployed(req.InstanceID, e.change("web", e.Images.V1, withArgs(serving(other)...), func(d *provider.ServiceDeploySpec) {
		d.Ports, d.HealthCheck = []provider.PortSpec{{Container: other, Protocol: provider.ProtocolHTTP}}, health(other)
	}))
	if got := e.do(req.InstanceID, "web", 0, "args"); !strings.Contains(got, "listen:"+digits(other)) {
		e.Errorf("after a deploy of another port the arguments are %s", got)
	}
}
