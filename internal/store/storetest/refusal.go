package storetest

import (
	"testing"

	"github.com/berth-cloud/berth/internal/store"
)

func refusalTests() []test {
	return []test{
		{"OtherGenerationThanExpectedConflicts", refuseExpect},
		{"FullNameOfAnotherAppIsTaken", refuseName},
		{"NameThatAnotherAppStillTearsDownIsTaken", refuseLeavingName},
		{"TakenNameIsSaidBeforeConflict", refuseNameFirst},
		{"DeletionOfAServiceThatTheAppLacksIsNotFound", refuseDelete},
		{"DeletionOfAnUnknownAppIsNotFound", refuseDeleteApp},
		{"MalformedChangeIsRefused", refuseMalformed},
	}
}

func refuseExpect(e *env) {
	e.apply(applying("shop", svc("shop", "web")))
	e.apply(applying("shop", svc("shop", "web")))
	for _, tc := range []struct {
		name   string
		expect map[string]int64
		fits   bool
	}{
		{"absent but there", map[string]int64{"shop-web": 0}, false},
		{"an older one", map[string]int64{"shop-web": 1}, false},
		{"a newer one", map[string]int64{"shop-web": 3}, false},
		{"there but absent", map[string]int64{"shop-web": 2, "shop-api": 1}, false},
		{"all as decided on", map[string]int64{"shop-web": 2, "shop-api": 0}, true},
	} {
		e.Run(tc.name, func(t *testing.T) {
			sub := &env{T: t, s: e.s, ctx: t.Context()}
			c := applying("shop", svc("shop", "web"), svc("shop", "new"))
			c.Expect = tc.expect
			if tc.fits {
				sub.apply(c)
				same(sub, "generation", sub.desired("shop-web").Generation, 3)
				return
			}
			sub.is(sub.applyErr(c), store.ErrConflict)
			same(sub, "generation", sub.desired("shop-web").Generation, 2)
			_, err := sub.s.GetDesiredService(sub.ctx, "shop-new")
			sub.is(err, store.ErrServiceNotFound)
			same(sub, "attempts", len(must[[]store.Attempt](sub)(sub.s.ListAttempts(sub.ctx, "shop", 0))), 2)
		})
	}
}

func refuseName(e *env) {
	e.apply(applying("a", svc("a", "b-c")))
	err := e.applyErr(applying("a-b", svc("a-b", "d"), svc("a-b", "c")))
	e.is(err, store.ErrNameTaken)
	e.says(err, "a-b-c", "app a;")
	e.nothing("a-b")
	same(e, "owner", e.desired("a-b-c").AppID, "a")
	same(e, "generation", e.desired("a-b-c").Generation, 1)
}

func refuseLeavingName(e *env) {
	e.apply(applying("a", svc("a", "b-c")))
	e.apply(deleting("a", "a-b-c"))
	e.is(e.applyErr(applying("a-b", svc("a-b", "c"))), store.ErrNameTaken)
	e.nothing("a-b")
	e.ok(e.s.DeletePendingTeardown(e.ctx, "a-b-c"))
	e.apply(applying("a-b", svc("a-b", "c")))
	same(e, "owner", e.desired("a-b-c").AppID, "a-b")
	same(e, "generation", e.desired("a-b-c").Generation, 1)
}

func refuseNameFirst(e *env) {
	e.apply(applying("a", svc("a", "b-c")))
	c := applying("a-b", svc("a-b", "c"))
	c.Expect = map[string]int64{"a-b-c": 0}
	e.is(e.applyErr(c), store.ErrNameTaken)
}

func refuseDelete(e *env) {
	e.apply(applying("a", svc("a", "b-c")))
	e.apply(applying("a-b", svc("a-b", "d")))
	e.is(e.applyErr(deleting("a", "a-none")), store.ErrServiceNotFound)
	e.is(e.applyErr(deleting("a-b", "a-b-d", "a-b-c")), store.ErrServiceNotFound)
	e.desired("a-b-c")
	e.desired("a-b-d")
	same(e, "teardowns", len(must[[]store.PendingTeardown](e)(e.s.ListPendingTeardowns(e.ctx))), 0)
}

func refuseDeleteApp(e *env) {
	e.is(e.applyErr(store.Change{AppID: "shop", Kind: store.AttemptDelete, Now: at(0), DeleteApp: true}), store.ErrNotFound)
	e.nothing("shop")
}

func refuseMalformed(e *env) {
	e.apply(applying("shop", svc("shop", "web")))
	foreign := svc("shop", "api")
	foreign.AppID = "blog"
	for name, c := range map[string]store.Change{
		"without an app":              applying("", svc("shop", "web")),
		"service of another app":      {AppID: "shop", Put: []store.DesiredService{foreign}},
		"service without a name":      {AppID: "shop", Put: []store.DesiredService{{AppID: "shop"}}},
		"service put twice":           {AppID: "shop", Put: []store.DesiredService{svc("shop", "web"), svc("shop", "web")}},
		"service put and deleted":     {AppID: "shop", Put: []store.DesiredService{svc("shop", "web")}, Delete: []string{"shop-web"}},
		"service deleted twice":       {AppID: "shop", Delete: []string{"shop-web", "shop-web"}},
		"action for another service":  {AppID: "shop", Actions: map[string]string{"shop-web": "retry"}},
		"deletion of a nameless":      {AppID: "shop", Delete: []string{""}},
		"action beside the right one": {AppID: "shop", Delete: []string{"shop-web"}, Actions: map[string]string{"shop-api": "delete"}},
	} {
		if _, err := e.s.ApplyChange(e.ctx, c); err == nil {
			e.Errorf("a change %s was accepted", name)
		}
	}
	same(e, "generation", e.desired("shop-web").Generation, 1)
}
