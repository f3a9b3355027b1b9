package storetest

import (
	"net/netip"
	"slices"

	"github.com/berth-cloud/berth/internal/store"
)

func subnetTests() []test {
	return []test{
		{"IsKeptPerApp", subnetKept},
		{"OverlapWithAnotherAppConflicts", subnetOverlap},
		{"SameAgainKeepsTheAddresses", subnetAgain},
		{"AnotherPrefixForgetsTheAddresses", subnetReplaced},
		{"DroppedIsForgottenWithItsAddresses", subnetDropped},
		{"InvalidIsRefused", subnetInvalid},
	}
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func (e *env) subnet(app, cidr string) {
	e.Helper()
	e.ok(e.s.SaveSubnet(e.ctx, store.Subnet{AppID: app, Prefix: prefix(cidr)}))
}

func (e *env) addresses(app string) []store.Address {
	e.Helper()
	return must[[]store.Address](e)(e.s.ListAddresses(e.ctx, app))
}

func subnetKept(e *env) {
	_, err := e.s.SubnetOf(e.ctx, "shop")
	e.is(err, store.ErrNotFound)
	e.subnet("shop", "10.9.1.0/24")
	e.subnet("blog", "10.9.0.0/24")
	e.reopen()
	same(e, "subnet", must[store.Subnet](e)(e.s.SubnetOf(e.ctx, "shop")).Prefix, prefix("10.9.1.0/24"))
	want := []store.Subnet{{AppID: "blog", Prefix: prefix("10.9.0.0/24")}, {AppID: "shop", Prefix: prefix("10.9.1.0/24")}}
	if got := must[[]store.Subnet](e)(e.s.ListSubnets(e.ctx)); !slices.Equal(got, want) {
		e.Errorf("subnets: got %v, want %v", got, want)
	}
}

func subnetOverlap(e *env) {
	e.subnet("shop", "10.9.1.0/24")
	for _, cidr := range []string{"10.9.1.0/24", "10.9.0.0/16", "10.9.1.128/25"} {
		e.is(e.s.SaveSubnet(e.ctx, store.Subnet{AppID: "blog", Prefix: prefix(cidr)}), store.ErrConflict)
	}
	_, err := e.s.SubnetOf(e.ctx, "blog")
	e.is(err, store.ErrNotFound)
}

func subnetAgain(e *env) {
	e.subnet("shop", "10.9.1.0/24")
	e.take(store.AddressRequest{AppID: "shop", Container: "c0", Now: at(0)}, "10.9.1.2")
	e.subnet("shop", "10.9.1.77/24")
	same(e, "addresses", len(e.addresses("shop")), 1)
	e.take(store.AddressRequest{AppID: "shop", Container: "c1", Now: at(0)}, "10.9.1.3")
}

func subnetReplaced(e *env) {
	e.subnet("shop", "10.9.1.0/24")
	e.take(store.AddressRequest{AppID: "shop", Container: "c0", Now: at(0)}, "10.9.1.2")
	e.subnet("shop", "10.9.2.0/24")
	same(e, "addresses", len(e.addresses("shop")), 0)
	e.take(store.AddressRequest{AppID: "shop", Container: "c0", Now: at(0)}, "10.9.2.2")
}

func subnetDropped(e *env) {
	e.subnet("shop", "10.9.1.0/24")
	e.subnet("blog", "10.9.2.0/24")
	e.take(store.AddressRequest{AppID: "shop", Container: "c0", Now: at(0)}, "10.9.1.2")
	e.take(store.AddressRequest{AppID: "blog", Container: "c0", Now: at(0)}, "10.9.2.2")
	e.ok(e.s.DropSubnet(e.ctx, "shop"))
	e.ok(e.s.DropSubnet(e.ctx, "shop"))
	_, err := e.s.SubnetOf(e.ctx, "shop")
	e.is(err, store.ErrNotFound)
	same(e, "addresses", len(e.addresses("shop")), 0)
	same(e, "addresses of the other app", len(e.addresses("blog")), 1)
	_, err = e.s.TakeAddress(e.ctx, store.AddressRequest{AppID: "shop", Container: "c1", Now: at(0)})
	e.is(err, store.ErrNotFound)
}

func subnetInvalid(e *env) {
	for _, n := range []store.Subnet{{Prefix: prefix("10.9.1.0/24")}, {AppID: "shop"}} {
		if err := e.s.SaveSubnet(e.ctx, n); err == nil {
			e.Errorf("subnet %v was accepted", n)
		}
	}
}
