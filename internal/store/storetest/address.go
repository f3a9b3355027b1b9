package storetest

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/berth-cloud/berth/internal/store"
)

func addressTests() []test {
	return []test{
		{"ContainerKeepsItsAddress", addressKept},
		{"NetworkGatewayAndBroadcastAreNeverGiven", addressReserved},
		{"FreshGoesBeforeRested", addressFreshFirst},
		{"RestedGoesLongestFreedFirst", addressRested},
		{"RestingGoesOnceTheDataPlaneForgotIt", addressAcked},
		{"RestedGoesBeforeAcknowledged", addressRestedBeforeAcked},
		{"FullSubnetIsSaid", addressFull},
		{"FreeingTwiceKeepsTheFirstMoment", addressFreedTwice},
		{"FreeingNothingSucceeds", addressFreeNothing},
		{"WorksForIPv6AndAcrossBytes", addressOtherSubnets},
		{"NamelessContainerIsRefused", addressNameless},
		{"AnyHistoryKeepsTheRules", addressModel},
	}
}

// take takes an address and checks which one it is.
func (e *env) take(q store.AddressRequest, want string) {
	e.Helper()
	same(e, q.Container, must[netip.Addr](e)(e.s.TakeAddress(e.ctx, q)).String(), want)
}

// ask is a request of the usual app with the usual rest.
func ask(container string, now time.Time, acked int64) store.AddressRequest {
	return store.AddressRequest{AppID: "shop", Container: container, Now: now, Rest: 10 * time.Second, Acked: acked}
}

func (e *env) free(container string, now time.Time) {
	e.Helper()
	e.ok(e.s.FreeAddress(e.ctx, "shop", container, now))
}

func addressKept(e *env) {
	e.subnet("shop", "10.9.1.0/24")
	e.take(ask("c0", at(0), 0), "10.9.1.2")
	e.take(ask("c1", at(0), 0), "10.9.1.3")
	e.take(ask("c0", at(5), 0), "10.9.1.2")
	e.reopen()
	e.take(ask("c1", at(9), 0), "10.9.1.3")
	same(e, "addresses", len(e.addresses("shop")), 2)
}

func addressReserved(e *env) {
	e.subnet("shop", "10.9.1.8/29")
	for i, want := range []string{"10.9.1.10", "10.9.1.11", "10.9.1.12", "10.9.1.13", "10.9.1.14"} {
		e.take(ask(fmt.Sprint("c", i), at(0), 0), want)
	}
	_, err := e.s.TakeAddress(e.ctx, ask("c9", at(0), 99))
	e.is(err, store.ErrSubnetFull)
	for _, tiny := range []string{"10.9.2.0/30", "10.9.3.0/31", "10.9.4.0/32"} {
		app := "app" + tiny
		e.subnet(app, tiny)
		for i := range 3 {
			ip, err := e.s.TakeAddress(e.ctx, store.AddressRequest{AppID: app, Container: fmt.Sprint(i), Now: at(0)})
			if first := tiny == "10.9.2.0/30" && i == 0; first {
				e.ok(err)
				same(e, "the only one", ip.String(), "10.9.2.2")
				continue
			}
			e.is(err, store.ErrSubnetFull)
		}
	}
}

func addressFreshFirst(e *env) {
	e.subnet("shop", "10.9.1.0/29")
	e.take(ask("c0", at(0), 0), "10.9.1.2")
	e.free("c0", at(1))
	e.take(ask("c0", at(1000), 99), "10.9.1.3")
	e.take(ask("c1", at(1000), 99), "10.9.1.4")
	e.take(ask("c2", at(1000), 99), "10.9.1.5")
	e.take(ask("c3", at(1000), 99), "10.9.1.6")
	e.take(ask("c4", at(1000), 99), "10.9.1.2")
}

// fill takes every address of a /29: c0 has .2 … c4 has .6.
func (e *env) fill() {
	e.Helper()
	e.subnet("shop", "10.9.1.0/29")
	for i := range 5 {
		e.take(ask(fmt.Sprint("c", i), at(0), 0), fmt.Sprint("10.9.1.", 2+i))
	}
}

func addressRested(e *env) {
	e.fill()
	e.activate(activeRow("shop-web", "v1")) // nothing freed now is acknowledged by 0
	e.free("c3", at(1))
	e.free("c1", at(2))
	e.free("c2", at(3))
	e.take(ask("n0", at(13), 0), "10.9.1.5")
	e.take(ask("n1", at(13), 0), "10.9.1.3")
	e.take(ask("n2", at(13), 0), "10.9.1.4")
	got := e.addresses("shop")[3]
	same(e, "taken again", got, store.Address{AppID: "shop", IP: netip.MustParseAddr("10.9.1.5"), Container: "n0"})
}

func addressAcked(e *env) {
	e.fill()
	v1 := e.activate(activeRow("shop-web", "v1")).Version
	e.free("c1", at(1))
	v2 := e.activate(activeRow("shop-web", "v2")).Version
	e.free("c0", at(2))
	same(e, "freed at the newest version", e.addresses("shop")[0].FreedVersion, v2)
	same(e, "freed before it", e.addresses("shop")[1].FreedVersion, v1)
	_, err := e.s.TakeAddress(e.ctx, ask("n0", at(3), v1-1))
	e.is(err, store.ErrSubnetFull)
	e.take(ask("n0", at(3), v1), "10.9.1.3")
	_, err = e.s.TakeAddress(e.ctx, ask("n1", at(3), v1))
	e.is(err, store.ErrSubnetFull)
	e.take(ask("n1", at(3), v2), "10.9.1.2")
}

func addressRestedBeforeAcked(e *env) {
	e.fill()
	e.free("c2", at(1)) // rested by 11
	e.free("c0", at(5))
	e.free("c1", at(4))
	e.take(ask("n0", at(11), 99), "10.9.1.4")
	e.take(ask("n1", at(11), 99), "10.9.1.3")
	e.take(ask("n2", at(11), 99), "10.9.1.2")
}

func addressFull(e *env) {
	e.fill()
	_, err := e.s.TakeAddress(e.ctx, ask("n0", at(0), 99))
	e.is(err, store.ErrSubnetFull)
	e.says(err, "n0", "shop")
	e.activate(activeRow("shop-web", "v1"))
	e.free("c0", at(1))
	_, err = e.s.TakeAddress(e.ctx, ask("n0", at(10), 0))
	e.is(err, store.ErrSubnetFull)
	e.take(ask("n0", at(11), 0), "10.9.1.2")
}

func addressFreedTwice(e *env) {
	e.fill()
	e.free("c0", at(1))
	e.free("c0", at(2))
	e.reopen()
	e.free("c0", at(3))
	got := e.addresses("shop")[0]
	same(e, "freed", got.FreedAt, at(1))
	same(e, "last holder", got.Container, "c0")
}

func addressFreeNothing(e *env) {
	e.free("c0", at(1))
	e.fill()
	e.free("none", at(1))
	for _, a := range e.addresses("shop") {
		same(e, a.Container, a.FreedAt.IsZero(), true)
	}
}

func addressOtherSubnets(e *env) {
	e.subnet("six", "fd00:1::/112")
	e.take(store.AddressRequest{AppID: "six", Container: "c", Now: at(0)}, "fd00:1::2")
	e.subnet("wide", "10.8.0.0/22")
	for i := range 300 {
		ip := must[netip.Addr](e)(e.s.TakeAddress(e.ctx, store.AddressRequest{AppID: "wide", Container: fmt.Sprint(i), Now: at(0)}))
		want := netip.AddrFrom4([4]byte{10, 8, byte((i + 2) / 256), byte((i + 2) % 256)})
		same(e, "address", ip, want)
	}
}

func addressNameless(e *env) {
	e.subnet("shop", "10.9.1.0/29")
	if _, err := e.s.TakeAddress(e.ctx, ask("", at(0), 0)); err == nil {
		e.Error("an address for no container was given")
	}
}
