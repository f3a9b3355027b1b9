package providertest

import (
	"errors"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

var needProvision = []provider.Capability{provider.CapProvision}

// callCases are about the requests themselves and their repetition.
var callCases = []Case{
	{Name: "Provision/Repeated", Needs: needProvision, run: provisionRepeated},
	{Name: "Provision/RepeatedAfterDeploy", Needs: needDeploy, run: provisionRepeatedAfterDeploy},
	{Name: "Provision/Conflict", Needs: needProvision, run: provisionConflict},
	{Name: "Provision/NotFound", Needs: needProvision, run: provisionNotFound},
	{Name: "Provision/Invalid", Needs: needProvision, run: provisionInvalid},
	{Name: "Provision/RepeatedAfterFailure", Needs: needProvision, run: provisionAfterFailure},
	{Name: "Provision/Crash", Needs: needProvision, run: provisionCrash},
	{Name: "Deploy/RepeatedAfterFailure", Needs: needDeploy, run: deployAfterFailure},
	{Name: "Deploy/Crash", Needs: needDeploy, run: deployCrash},
	{Name: "Deprovision/RepeatedAfterFailure", Needs: needProvision, run: deprovisionAfterFailure},
	{Name: "Deprovision/Crash", Needs: needProvision, run: deprovisionCrash},
}

func provisionRepeated(e *env) {
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	first := e.provision(req)
	if first.ProviderRef == "" {
		e.Errorf("the result has no reference")
	}
	e.provision(req) // while it may still be on its way
	st := e.ready(req.InstanceID)
	web, side := refs(st, "web"), refs(st, "side")
	if len(web) != 1 || len(side) != 1 {
		e.Errorf("two Provisions made %d and %d containers of the two services", len(web), len(side))
	}
	again := e.provision(req)
	if again.ProviderRef != first.ProviderRef {
		e.Errorf("the second Provision answers with the reference %q, the first with %q", again.ProviderRef, first.ProviderRef)
	}
	e.settle()
	e.ready(req.InstanceID)
	e.same(req.InstanceID, "web", web, "after a repeated Provision")
	e.same(req.InstanceID, "side", side, "after a repeated Provision")
}

func provisionRepeatedAfterDeploy(e *env) {
	req := e.request()
	e.running(req)
	st := e.deployed(req.InstanceID, e.change("web", e.Images.V2))
	before := refs(st, "web")
	e.provision(req)
	e.settle()
	e.ready(req.InstanceID)
	e.same(req.InstanceID, "web", before, "after the first Provision was repeated on a later release")
}

func provisionConflict(e *env) {
	req := e.request()
	req.Services[0].Env = map[string]string{"COLOUR": "red"}
	before := refs(e.running(req), "web")
	for what, alter := range map[string]func(*provider.ProvisionRequest){
		"a variable": func(r *provider.ProvisionRequest) { r.Services[0].Env = map[string]string{"COLOUR": "blue"} },
		"the image":  func(r *provider.ProvisionRequest) { r.Services[0].Image = e.Images.V2 },
		"a label":    func(r *provider.ProvisionRequest) { r.Labels = map[string]string{"team": "blue"} },
		"the tenant": func(r *provider.ProvisionRequest) { r.TenantID += "-other" },
		"another service": func(r *provider.ProvisionRequest) {
			r.Services = append(r.Services, e.web("side", provider.RoleSidecar, port+1))
		},
	} {
		other := req
		other.Services = provider.CloneServices(req.Services)
		alter(&other)
		_, err := e.Provider.Provision(e.ctx, other)
		e.want(err, provider.ErrConflict, "Provision with another value of "+what)
	}
	e.settle()
	e.ready(req.InstanceID)
	e.same(req.InstanceID, "web", before, "after a Provision that was refused")
	if got := e.do(req.InstanceID, "web", 0, "env:COLOUR"); got != "red" {
		e.Errorf("after a Provision that was refused COLOUR is %q", got)
	}
}

func provisionNotFound(e *env) {
	e.allNotFound(id.New(id.KindWorkload), "of an instance that never was")
	if stepper, ok := e.Provider.(provider.Stepper); ok {
		_, err := stepper.Step(e.ctx, id.New(id.KindWorkload))
		e.want(err, provider.ErrNotFound, "Step of an instance that never was")
	}
}

func provisionInvalid(e *env) {
	req := e.request(e.web("web", provider.RoleMain, port), e.web("Web_2", provider.RoleSidecar, port))
	req.Services[1].DependsOn = []string{"nobody"}
	req.Services[0].Resources.CPUMillis = -1
	e.know(req.InstanceID)
	_, err := e.Provider.Provision(e.ctx, req)
	e.want(err, provider.ErrInvalid, "Provision of a request that breaks rules")
	var all *provider.ValidationError
	if !errors.As(err, &all) {
		e.Fatalf("the error of a request that breaks rules is %T, no *ValidationError", err)
	}
	for _, part := range []string{"name", "ports", "depends_on", "resources"} {
		if !slices.ContainsFunc(all.Problems, func(p provider.Problem) bool { return strings.Contains(p.Path, part) }) {
			e.Errorf("no problem names the bad %s: %v", part, err)
		}
	}
	if _, err := e.Provider.Status(e.ctx, req.InstanceID); !errors.Is(err, provider.ErrNotFound) {
		e.Errorf("after a request that was refused Status returns %v", err)
	}
	e.leaves(req.InstanceID, "a request that was refused")
	mains := e.request(e.web("web", provider.RoleMain, port), e.web("second", provider.RoleMain, port+1))
	_, err = e.Provider.Provision(e.ctx, mains)
	e.want(err, provider.ErrInvalid, "Provision with two main services")
	_, err = e.Provider.Provision(e.ctx, provider.ProvisionRequest{InstanceID: id.New(id.KindWorkload), TenantID: e.Tenant})
	e.want(err, provider.ErrInvalid, "Provision without a service")
}

// leaves fails when something bears the instance's mark.
func (e *env) leaves(instance id.ID, what string) {
	e.Helper()
	if e.Leftovers == nil {
		return
	}
	if left := e.Leftovers(instance); len(left) > 0 {
		e.Errorf("%s left %s", what, strings.Join(left, ", "))
	}
}
