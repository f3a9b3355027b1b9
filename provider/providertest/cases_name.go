package providertest

import (
	"net/url"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// nameCases are about who reaches whom.
var nameCases = []Case{
	{Name: "Names/WithinGroup", Needs: needProvision, run: namesWithinGroup},
	{Name: "Names/PerReplica", Needs: needProvision, run: namesPerReplica},
	{Name: "Names/SharedNetwork", Needs: needProvision, run: namesShared},
	{Name: "Names/Long", Needs: needProvision, run: namesLong},
	{Name: "Names/OtherTenant", Needs: needProvision, run: namesOtherTenant},
}

// hostOf is a step that asks another service for its hostname.
func hostOf(name string, at int) string {
	return "fetch:http://" + name + ":" + digits(at) + "/do?step=hostname"
}

// finds waits until one service meets another under a name. Who has just left may
// be met for a moment more.
func (e *env) finds(from id.ID, service string, replica int, name string, at int, want string) {
	e.Helper()
	var got string
	ok := e.Wait(func() bool {
		got, _ = e.try(from, service, replica, hostOf(name, at))
		return got == want || e.ctx.Err() != nil
	})
	if !ok || e.ctx.Err() != nil {
		e.Errorf("%s of replica %d finds %q under the name %s, and not %s", service, replica, got, name, want)
	}
}

func namesWithinGroup(e *env) {
	req := e.request(e.web("web", provider.RoleMain, port), e.web("side", provider.RoleSidecar, port+1))
	e.running(req)
	check := func() {
		e.finds(req.InstanceID, "web", 0, "side", port+1, e.do(req.InstanceID, "side", 0, "hostname"))
		e.finds(req.InstanceID, "side", 0, "web", port, e.do(req.InstanceID, "web", 0, "hostname"))
	}
	check()
	if e.has(provider.CapDeploy) {
		e.deployed(req.InstanceID, e.change("side", e.Images.V2))
		check()
	}
}

func namesPerReplica(e *env) {
	const replicas = 3
	req := e.request(times(e.web("web", provider.RoleMain, port), replicas), e.web("side", provider.RoleSidecar, port+1))
	e.running(req)
	for i := range replicas {
		e.finds(req.InstanceID, "web", i, "side", port+1, e.do(req.InstanceID, "side", i, "hostname"))
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
	e.finds(shop.InstanceID, "web", 0, "stock", port, e.do(stock.InstanceID, "web", 0, "hostname"))
	if e.has(provider.CapDeploy) {
		e.deployed(stock.InstanceID, e.change("web", e.Images.V2))
		e.finds(shop.InstanceID, "web", 0, "stock", port, e.do(stock.InstanceID, "web", 0, "hostname"))
	}
	e.forget(shop.InstanceID)
	e.finds(stock.InstanceID, "web", 0, "stock", port, e.do(stock.InstanceID, "web", 0, "hostname"))
}

// namesLong: names are as long as a label of DNS may be, and resolve.
func namesLong(e *env) {
	long := strings.Repeat("n", provider.MaxServiceNameLength-1)
	shop := on(e.request(e.web("web", provider.RoleMain, port), e.web(long+"s", provider.RoleSidecar, port+1)), "shared", long+"a", e.Tenant)
	stock := on(e.request(times(e.web("web", provider.RoleMain, port), 2)), "shared", long[:provider.MaxStatefulNameLength], e.Tenant)
	stock.Kind = provider.KindStatefulSet
	e.running(shop)
	e.running(stock)
	e.finds(shop.InstanceID, "web", 0, long+"s", port+1, e.do(shop.InstanceID, long+"s", 0, "hostname"))
	e.finds(stock.InstanceID, "web", 0, long+"a", port, e.do(shop.InstanceID, "web", 0, "hostname"))
	for i := range 2 {
		if st := e.status(stock.InstanceID); len(endpoints(st, "web", i)) == 0 {
			e.Errorf("replica %d of the long name has no endpoint", i)
		}
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
	// By address too: what answers there must not be the other's container.
	host := e.do(mine.InstanceID, "web", 0, "hostname")
	for _, ep := range endpoints(st, "web", -1) {
		u, err := url.Parse(ep.URL)
		if err != nil {
			e.Errorf("endpoint %q: %v", ep.URL, err)
			continue
		}
		if got := e.fetches(other.InstanceID, "http://"+u.Host+"/do?step=hostname"); got != "" {
			e.Errorf("a workload of another tenant reaches %q at %s, where %q is", got, u.Host, host)
		}
	}
}

// fetches is what a workload reads from an address three times in a row, or "": an
// engine that sets up another network may leave its rules out for a moment.
func (e *env) fetches(instance id.ID, from string) string {
	e.Helper()
	said := ""
	for range 3 {
		got, err := e.try(instance, "web", 0, "fetch:"+from)
		if err != nil {
			return ""
		}
		said = got
		e.settle()
	}
	return said
}
