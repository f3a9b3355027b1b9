package storetest

import (
	"slices"

	"github.com/berth-cloud/berth/internal/store"
)

func teardownTests() []test {
	return []test{
		{"KnowsItsAppAndAttempt", teardownOwner},
		{"AddedAgainKeepsItsHistory", teardownAgain},
		{"FailuresAreCounted", teardownFailures},
		{"EndsOnce", teardownEnds},
	}
}

func teardownOwner(e *env) {
	a := e.apply(applying("shop", svc("shop", "web")))
	r := release("blog-web", "web@sha256:aa", "n1")
	r.AppID, r.AttemptID = "blog", 77
	e.release(r)
	for _, name := range []string{"shop-web", "blog-web", "lost"} {
		e.ok(e.s.AddPendingTeardown(e.ctx, name, "node-1"))
	}
	e.reopen()
	got := e.teardowns()
	same(e, "teardowns", len(got), 3)
	for i, want := range []store.PendingTeardown{
		{Name: "blog-web", AppID: "blog", AttemptID: 77}, {Name: "lost"}, {Name: "shop-web", AppID: "shop", AttemptID: a.ID},
	} {
		want.NodeID, want.CreatedAt = "node-1", got[i].CreatedAt
		same(e, want.Name, got[i], want)
		same(e, "has a birthday", got[i].CreatedAt.IsZero(), false)
	}
}

func teardownAgain(e *env) {
	e.ok(e.s.AddPendingTeardown(e.ctx, "shop-web", ""))
	e.ok(e.s.RecordPendingTeardownFailure(e.ctx, "shop-web", "engine away"))
	before := e.teardowns()[0]
	e.ok(e.s.AddPendingTeardown(e.ctx, "shop-web", "node-1"))
	before.NodeID = "node-1"
	if got := e.teardowns(); !slices.Equal(got, []store.PendingTeardown{before}) {
		e.Errorf("got %+v, want %+v", got, before)
	}
}

func teardownFailures(e *env) {
	e.is(e.s.RecordPendingTeardownFailure(e.ctx, "shop-web", "engine away"), store.ErrNotFound)
	e.ok(e.s.AddPendingTeardown(e.ctx, "shop-web", ""))
	e.ok(e.s.RecordPendingTeardownFailure(e.ctx, "shop-web", "engine away"))
	e.ok(e.s.RecordPendingTeardownFailure(e.ctx, "shop-web", "volume busy"))
	got := e.teardowns()[0]
	same(e, "failures", got.Failures, 2)
	same(e, "cause", got.LastCause, "volume busy")
}

func teardownEnds(e *env) {
	e.ok(e.s.AddPendingTeardown(e.ctx, "shop-web", ""))
	e.ok(e.s.AddPendingTeardown(e.ctx, "shop-api", ""))
	e.ok(e.s.DeletePendingTeardown(e.ctx, "shop-web"))
	e.ok(e.s.DeletePendingTeardown(e.ctx, "shop-web"))
	got := e.teardowns()
	same(e, "left", len(got), 1)
	same(e, "left", got[0].Name, "shop-api")
}
