package providertest

import (
	"net/url"

	"github.com/berth-cloud/berth/provider"
)

// nameCases are about who reaches whom.
var nameCases = []Case{
	{Name: "Names/WithinGroup", Needs: needProvision, run: namesWithinGroup},
	{Name: "Names/PerReplica", Needs: needProvision, run: namesPerReplica},
	{Name: "Names/SharedNetwork", Needs: needProvision, run: namesShared},
	{Name: "Names/OtherTenant", Needs: needProvision, run: namesOtherTenant},
}

// hostOf is a step that asks another service for its hostname.
func hostOf(name string, at int) string {
	return "fetch:http://" + name + ":" + digits(at) + "/do?step=hostname"
}

func namesWithinGroup(e *env) {
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	e.running(req)
	check := func(when string) {
		if got, want := e.do(req.InstanceID, "web", 0, hostOf("side", port+1)), e.do(req.InstanceID, "side", 0, "hostname"); got != want {
			e.Errorf("%s main finds %q under the name of the sidecar, which is %q", when, got, want)
		}
		if got, want := e.do(req.InstanceID, "side", 0, hostOf("web", port)), e.do(req.InstanceID, "web", 0, "hostname"); got != want {
			e.Errorf("%s the sidecar finds %q under the name of main, which is %q", when, got, want)
		}
	}
	check("at first")
	if e.has(provider.CapDeploy) {
		e.deployed(req.InstanceID, e.change("side", e.Images.V2))
		check("after a deploy")
	}
}

func namesPerReplica(e *env) {
	const replicas = 3
	req := e.request(times(e.web("web", provider.RoleMain, port), replicas), e.web("side", provider.RoleSidecar, port+1))
	e.running(req)
	for i := range replicas {
		if got, want := e.do(req.InstanceID, "web", i, hostOf("side", port+1)), e.do(req.InstanceID, "side", i, "hostname"); got != want {
			e.Errorf("main of replica %d finds %q under the name of its sidecar, which is %q", i, got, want)
		}
	}
}

// on puts a workload on a network that is shared.
func on(req provider.ProvisionRequest, network, name, tenant string) provider.ProvisionRequest {
	req.Network, req.Name, req.TenantID = network, name, tenant
	return req
}

func namesShared(e *env) {
	shop, stock := on(e.request(), "shared", "shop", e.Tenant), on(e.request(), "shared", "stock", e.Tenant)
	e.running(shop)
	e.running(stock)
	if got, want := e.do(shop.InstanceID, "web", 0, hostOf("stock", port)), e.do(stock.InstanceID, "web", 0, "hostname"); got != want {
		e.Errorf("one workload finds %q under the name of another, which is %q", got, want)
	}
	if e.has(provider.CapDeploy) {
		e.deployed(stock.InstanceID, e.change("web", e.Images.V2))
		if got, want := e.do(shop.InstanceID, "web", 0, hostOf("stock", port)), e.do(stock.InstanceID, "web", 0, "hostname"); got != want {
			e.Errorf("after its deploy one workload finds %q under the name of another, which is %q", got, want)
		}
	}
	e.forget(shop.InstanceID)
	if got := e.do(stock.InstanceID, "web", 0, hostOf("stock", port)); got == "" {
		e.Errorf("after Deprovision of one the other does not find itself")
	}
}

func namesOtherTenant(e *env) {
	mine, other := on(e.request(), "shared", "shop", e.Tenant), on(e.request(), "shared", "spy", e.Tenant+"-other")
	alone := on(e.request(), "another", "alone", e.Tenant)
	st := e.running(mine)
	e.running(other)
	e.running(alone)
	for who, from := range map[string]provider.ProvisionRequest{"of another tenant": other, "of another network": alone} {
		if got, err := e.try(from.InstanceID, "web", 0, hostOf("shop", port)); err == nil {
			e.Errorf("a workload %s reaches %q by name", who, got)
		}
	}
	for _, ep := range endpoints(st, "web", -1) {
		u, err := url.Parse(ep.URL)
		if err != nil {
			e.Errorf("endpoint %q: %v", ep.URL, err)
			continue
		}
		if _, err := e.try(other.InstanceID, "web", 0, "dial:"+u.Host); err == nil {
			e.Errorf("a workload of another tenant reaches %s", u.Host)
		}
	}
}
