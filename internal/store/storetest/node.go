package storetest

import "github.com/berth-cloud/berth/internal/store"

func nodeTests() []test {
	return []test{
		{"ANodesRowIsReplacedAndForgotten", nodeIsForgotten},
		{"WhereAnAppRunsIsReplaced", placementIsReplaced},
		{"WhereAnAppRunsGoesWithIt", placementGoes},
	}
}

func nodeIsForgotten(e *env) {
	e.ok(e.s.DeleteNode(e.ctx, "one"))
	for _, n := range []store.Node{{ID: "one", Cordoned: true}, {ID: "two", Cordoned: true}, {ID: ""}, {ID: "two"}} {
		e.ok(e.s.SaveNode(e.ctx, n))
	}
	e.ok(e.s.DeleteNode(e.ctx, "one"))
	got, err := e.s.Nodes(e.ctx)
	e.ok(err)
	if len(got) != 2 || got[0].ID != "" || got[1].ID != "two" || got[1].Cordoned {
		e.Errorf("left: %+v", got)
	}
}

func placementIsReplaced(e *env) {
	_, err := e.s.PlacementOf(e.ctx, "shop")
	e.is(err, store.ErrNotFound)
	e.is(e.s.SavePlacement(e.ctx, store.Placement{AppID: "shop", Nodes: []string{"a"}}), store.ErrNotFound)
	e.apply(applying("shop", store.DesiredService{Name: "shop-web"}))
	e.says(e.s.SavePlacement(e.ctx, store.Placement{AppID: "shop"}), "names a node")
	e.ok(e.s.SavePlacement(e.ctx, store.Placement{AppID: "shop", Nodes: []string{""}}))
	e.ok(e.s.SavePlacement(e.ctx, store.Placement{AppID: "shop", Nodes: []string{"a", "b"}}))
	all, err := e.s.ListPlacements(e.ctx)
	e.ok(err)
	if len(all) != 1 || len(all[0].Nodes) != 2 {
		e.Errorf("got %+v", all)
	}
}

func placementGoes(e *env) {
	e.apply(applying("shop", store.DesiredService{Name: "shop-web"}))
	e.ok(e.s.SavePlacement(e.ctx, store.Placement{AppID: "shop", Nodes: []string{"a"}}))
	e.apply(store.Change{AppID: "shop", Delete: []string{"shop-web"}, DeleteApp: true})
	e.ok(e.s.DeletePendingTeardown(e.ctx, "shop-web"))
	_, err := e.s.PlacementOf(e.ctx, "shop")
	e.is(err, store.ErrNotFound)
}
