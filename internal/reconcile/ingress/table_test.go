package ingress

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/store"
)

func TestATableHoldsTheRowsOfTheActiveReleases(t *testing.T) {
	route := store.ActiveRoute{Hosts: []string{"shop.test", "www.shop.test"}, Path: "/api", HoldTimeout: time.Second, DrainTimeout: time.Minute}
	got := Build(store.RouteState{Version: 7, Active: []store.ActiveRelease{
		{Service: "shop-web", Route: route, Targets: []store.ActiveTarget{
			{Container: "shop-web-1", Address: netip.MustParseAddrPort("10.210.0.5:8080")},
			{Container: "shop-web-2"}, // has no address: nothing can be sent to it
			{Container: "shop-web-3", Address: netip.MustParseAddrPort("10.210.0.6:8080"), Node: "node-1"},
		}},
		{Service: "shop-worker", Targets: []store.ActiveTarget{{Container: "shop-worker-1"}}}, // no host, no route
		{Service: "blog-web", Route: store.ActiveRoute{Hosts: []string{"blog.test"}, Path: "/"}},
	}}, Facts{BootID: "boot", EngineStart: "7@99"})
	want := table.Table{
		Protocol: table.Protocol, Owner: table.OwnerServer, Version: 7, BootID: "boot", EngineStart: "7@99",
		Routes: []table.Route{
			// Held: an active release without targets keeps its route.
			{Service: "blog-web", Hosts: []string{"blog.test"}, Path: "/", Targets: []table.Target{}},
			{Service: "shop-web", Hosts: route.Hosts, Path: "/api", HoldTimeout: time.Second, DrainTimeout: time.Minute, Targets: []table.Target{
				{ID: "shop-web-1", Address: "10.210.0.5:8080"}, {ID: "shop-web-3", Address: "10.210.0.6:8080", Node: "node-1"},
			}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	got.Normalize()
	if err := got.Validate(); err != nil {
		t.Errorf("the data plane would refuse it: %v", err)
	}
}

func TestWithoutAnActiveReleaseTheTableHasNoRoutes(t *testing.T) {
	got := Build(store.RouteState{Version: 3}, Facts{})
	if got.Version != 3 || got.Routes == nil || len(got.Routes) != 0 {
		t.Errorf("%+v", got)
	}
}
