package storetest

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/store"
)

func activeTests() []test {
	return []test{
		{"EveryChangeTakesTheNextVersion", activeVersions},
		{"IdenticalRowKeepsItsVersion", activeIdentical},
		{"SinceStaysWhileTheReleaseDoes", activeSince},
		{"VersionsGoOnAfterARestart", activeRestart},
		{"DeletionTakesAVersion", activeDelete},
		{"RoutesAreReadAtOneMoment", activeRoutes},
		{"NoRouteLeadsToTwoServices", activeDivided},
		{"GivenUpRouteServesUntilItIsTaken", activeGivenUp},
		{"NamelessRowIsRefused", activeNameless},
		{"UnknownIsNotFound", activeUnknown},
	}
}

func activeRow(service, release string) store.ActiveRelease {
	return store.ActiveRelease{
		Service: service, AppID: "shop", ReleaseID: release, Since: at(1), PreviousID: "before", HeldUntil: at(90),
		Targets: []store.ActiveTarget{
			{Container: release + "-0", Address: netip.MustParseAddrPort("10.9.8.2:80")},
			{Container: release + "-1", Replica: 1, Address: netip.MustParseAddrPort("10.9.8.3:80")},
		},
		Route: store.ActiveRoute{Hosts: []string{"shop.example"}, Path: "/", HoldTimeout: time.Second, DrainTimeout: time.Minute},
	}
}

func (e *env) activate(a store.ActiveRelease) store.ActiveRelease {
	e.Helper()
	return must[store.ActiveRelease](e)(e.s.SetActiveRelease(e.ctx, a))
}

func activeVersions(e *env) {
	start := e.routes().Version
	same(e, "first", e.activate(activeRow("shop-web", "v1")).Version, start+1)
	same(e, "other service", e.activate(activeRow("shop-api", "v1")).Version, start+2)
	got := e.activate(activeRow("shop-web", "v2"))
	same(e, "second", got.Version, start+3)
	stored := must[store.ActiveRelease](e)(e.s.GetActiveRelease(e.ctx, "shop-web"))
	if !reflect.DeepEqual(got, stored) {
		e.Errorf("returned %+v, stored %+v", got, stored)
	}
	same(e, "newest", e.routes().Version, start+3)
}

func activeIdentical(e *env) {
	for name, change := range map[string]func(*store.ActiveRelease){
		"release":       func(a *store.ActiveRelease) { a.ReleaseID = "v2" },
		"app":           func(a *store.ActiveRelease) { a.AppID = "other" },
		"targets fewer": func(a *store.ActiveRelease) { a.Targets = a.Targets[:1] },
		"targets none":  func(a *store.ActiveRelease) { a.Targets = nil },
		"target address": func(a *store.ActiveRelease) {
			a.Targets = []store.ActiveTarget{a.Targets[0], {Container: "v1-1", Replica: 1, Address: netip.MustParseAddrPort("10.9.8.4:80")}}
		},
		"hosts":    func(a *store.ActiveRelease) { a.Route.Hosts = []string{"shop.example", "www.shop.example"} },
		"path":     func(a *store.ActiveRelease) { a.Route.Path = "/shop" },
		"hold":     func(a *store.ActiveRelease) { a.Route.HoldTimeout++ },
		"drain":    func(a *store.ActiveRelease) { a.Route.DrainTimeout++ },
		"previous": func(a *store.ActiveRelease) { a.PreviousID = "" },
		"held":     func(a *store.ActiveRelease) { a.HeldUntil = time.Time{} },
	} {
		e.Run(name, func(t *testing.T) {
			sub := &env{T: t, s: e.s, ctx: t.Context()}
			service := "shop-" + name
			first := sub.activate(activeRow(service, "v1"))
			again := activeRow(service, "v1")
			again.Version = 12345
			same(sub, "version of the same again", sub.activate(again).Version, first.Version)
			same(sub, "newest", sub.routes().Version, first.Version)
			other := activeRow(service, "v1")
			change(&other)
			same(sub, "version of another", sub.activate(other).Version, first.Version+1)
		})
	}
}

func activeSince(e *env) {
	e.activate(activeRow("shop-web", "v1"))
	moved := activeRow("shop-web", "v1")
	moved.Since, moved.Targets = at(40), nil
	same(e, "since with other targets", e.activate(moved).Since, at(1))
	next := activeRow("shop-web", "v2")
	next.Since = at(50)
	same(e, "since of another release", e.activate(next).Since, at(50))
	unset := activeRow("shop-api", "v1")
	unset.Since = time.Time{}
	same(e, "since is set", e.activate(unset).Since.IsZero(), false)
}

func activeRestart(e *env) {
	e.activate(activeRow("shop-web", "v1"))
	last := must[int64](e)(e.s.DeleteActiveRelease(e.ctx, "shop-web"))
	e.reopen()
	same(e, "newest", e.routes().Version, last)
	same(e, "next", e.activate(activeRow("shop-web", "v1")).Version, last+1)
}

func activeDelete(e *env) {
	a := e.activate(activeRow("shop-web", "v1"))
	same(e, "deletion", must[int64](e)(e.s.DeleteActiveRelease(e.ctx, "shop-web")), a.Version+1)
	_, err := e.s.GetActiveRelease(e.ctx, "shop-web")
	e.is(err, store.ErrNotFound)
	same(e, "again", must[int64](e)(e.s.DeleteActiveRelease(e.ctx, "shop-web")), a.Version+1)
	same(e, "newest", e.routes().Version, a.Version+1)
}

func activeRoutes(e *env) {
	empty := e.routes()
	same(e, "active in the beginning", len(empty.Active), 0)
	web, api := e.activate(activeRow("shop-web", "v1")), e.activate(activeRow("shop-api", "v1"))
	got := e.routes()
	if want := (store.RouteState{Version: api.Version, Active: []store.ActiveRelease{api, web}}); !reflect.DeepEqual(got, want) {
		e.Errorf("routes: got %+v, want %+v", got, want)
	}
}

// serving writes the row of a service that is reached by hosts.
func (e *env) serving(app, name string, hosts ...string) store.ActiveRelease {
	e.Helper()
	return e.activate(store.ActiveRelease{
		Service: app + "-" + name, AppID: app, ReleaseID: "v1", Route: store.ActiveRoute{Hosts: hosts, Path: "/"},
	})
}

// reached lists what each service is reached by.
func (e *env) reached() string {
	e.Helper()
	var out []string
	for _, a := range e.routes().Active {
		out = append(out, fmt.Sprint(a.Service, a.Route.Hosts))
	}
	return strings.Join(out, " ")
}

// activeDivided: one file moves a host from one service to another, and the
// pass of the one that gives it up comes late, or fails and brings it back.
func activeDivided(e *env) {
	e.apply(applying("shop", svc("shop", "api", "a.example"), svc("shop", "web", "b.example", "c.example")))
	e.serving("shop", "api", "a.example")
	before := e.serving("shop", "web", "b.example", "c.example")
	e.apply(applying("shop", svc("shop", "api", "a.example", "b.example"), svc("shop", "web", "c.example", "d.example")))

	got := e.serving("shop", "api", "a.example", "b.example")
	same(e, "after the claimant's row", e.reached(), "shop-api[a.example b.example] shop-web[c.example]")
	stripped := must[store.ActiveRelease](e)(e.s.GetActiveRelease(e.ctx, "shop-web"))
	if stripped.Version <= before.Version || got.Version <= before.Version || e.routes().Version != max(got.Version, stripped.Version) {
		e.Errorf("versions: %d before, then %d and %d, newest %d", before.Version, got.Version, stripped.Version, e.routes().Version)
	}
	late := e.serving("shop", "web", "b.example", "c.example")
	same(e, "version of the same again", late.Version, stripped.Version)
	same(e, "after the late row", e.reached(), "shop-api[a.example b.example] shop-web[c.example]")
	e.serving("shop", "web", "c.example", "d.example")
	same(e, "at the end", e.reached(), "shop-api[a.example b.example] shop-web[c.example d.example]")
}

// activeGivenUp: a change that failed leaves the old release on a host that the
// file no longer names, until another app has taken it.
func activeGivenUp(e *env) {
	e.apply(applying("shop", svc("shop", "web", "a.example")))
	e.serving("shop", "web", "a.example")
	e.apply(applying("shop", svc("shop", "web", "b.example")))
	e.apply(applying("club", svc("club", "web", "a.example")))
	e.serving("shop", "web", "a.example", "x.example")
	same(e, "before the claimant serves", e.reached(), "shop-web[a.example x.example]")
	e.serving("club", "web", "a.example")
	same(e, "after", e.reached(), "club-web[a.example] shop-web[x.example]")
}

func activeNameless(e *env) {
	for _, a := range []store.ActiveRelease{activeRow("", "v1"), activeRow("shop-web", "")} {
		if _, err := e.s.SetActiveRelease(e.ctx, a); err == nil {
			e.Errorf("active release %q of %q was accepted", a.ReleaseID, a.Service)
		}
	}
	same(e, "version", e.routes().Version, 0)
}

func activeUnknown(e *env) {
	_, err := e.s.GetActiveRelease(e.ctx, "shop-web")
	e.is(err, store.ErrNotFound)
}
