package storetest

import (
	"slices"

	"github.com/berth-cloud/berth/internal/store"
)

func deletionTests() []test {
	return []test{
		{"DeletedServiceLeavesATombstone", deleteLeavesTombstone},
		{"DeletionWithoutActionIsPartOfTheAttempt", deleteWithoutAction},
		{"DeletionMayBeAskedForAgainWhileItIsPending", deleteAgain},
		{"PutCancelsTheTeardown", deleteThenPut},
		{"AppGoesOnceNothingOfItIsLeft", deleteApp},
		{"PutKeepsAnAppThatWasBeingDeleted", deleteAppRevived},
		{"AppThatIsNotBeingDeletedStays", deleteAppNotAsked},
	}
}

func (e *env) teardowns() []store.PendingTeardown {
	e.Helper()
	return must[[]store.PendingTeardown](e)(e.s.ListPendingTeardowns(e.ctx))
}

func deleteLeavesTombstone(e *env) {
	e.apply(applying("shop", svc("shop", "web"), svc("shop", "api")))
	c := deleting("shop", "shop-web")
	c.Now = at(9)
	a := e.apply(c)
	e.reopen()
	_, err := e.s.GetDesiredService(e.ctx, "shop-web")
	e.is(err, store.ErrServiceNotFound)
	e.desired("shop-api")
	want := []store.PendingTeardown{{Name: "shop-web", AppID: "shop", AttemptID: a.ID, CreatedAt: at(9)}}
	if got := e.teardowns(); !slices.Equal(got, want) {
		e.Errorf("teardowns: got %+v, want %+v", got, want)
	}
	same(e, "action", a.Services[0].Action, "delete")
}

func deleteWithoutAction(e *env) {
	e.apply(applying("shop", svc("shop", "web")))
	a := e.apply(store.Change{AppID: "shop", Kind: store.AttemptApply, Now: at(0), Delete: []string{"shop-web"}})
	same(e, "services", len(a.Services), 1)
	same(e, "action", a.Services[0].Action, "delete")
	same(e, "state", a.State, store.AttemptRunning)
}

func deleteAgain(e *env) {
	e.apply(applying("shop", svc("shop", "web")))
	first := e.apply(deleting("shop", "shop-web"))
	e.ok(e.s.RecordPendingTeardownFailure(e.ctx, "shop-web", "engine away"))
	c := deleting("shop", "shop-web")
	c.Now = at(5)
	second := e.apply(c)
	same(e, "first attempt", e.attempt(first.ID).State, store.AttemptSuperseded)
	got := e.teardowns()
	same(e, "teardowns", len(got), 1)
	same(e, "teardown", got[0], store.PendingTeardown{Name: "shop-web", AppID: "shop", AttemptID: second.ID,
		CreatedAt: at(0), Failures: 1, LastCause: "engine away"})
}

func deleteThenPut(e *env) {
	e.apply(applying("shop", svc("shop", "web")))
	gone := e.apply(deleting("shop", "shop-web"))
	back := applying("shop", svc("shop", "web"))
	back.Actions = nil // even as no part of the attempt it ends the deletion
	e.apply(back)
	same(e, "teardowns", len(e.teardowns()), 0)
	same(e, "generation", e.desired("shop-web").Generation, 1)
	same(e, "attempt of the deletion", e.attempt(gone.ID).State, store.AttemptSuperseded)
}

func deleteApp(e *env) {
	e.apply(applying("shop", svc("shop", "web"), svc("shop", "api")))
	e.apply(applying("shop-b", svc("shop-b", "a")))
	there := func(want bool, when string) {
		e.Helper()
		e.ok(e.s.DeleteApp(e.ctx, "shop"))
		app, err := e.s.GetApp(e.ctx, "shop")
		if !want {
			e.is(err, store.ErrNotFound)
			return
		}
		if err != nil || !app.Deleting {
			e.Errorf("%s: app is %+v, %v", when, app, err)
		}
	}
	c := deleting("shop", "shop-web")
	c.DeleteApp = true
	a := e.apply(c)
	there(true, "with a service and a tombstone")
	e.ok(e.s.DeletePendingTeardown(e.ctx, "shop-web"))
	there(true, "with a service")
	e.apply(deleting("shop", "shop-api"))
	there(true, "with a tombstone")
	e.ok(e.s.DeletePendingTeardown(e.ctx, "shop-api"))
	there(false, "with nothing")
	there(false, "again")
	same(e, "attempt of an app that is gone", e.attempt(a.ID).AppID, "shop")
	must[store.App](e)(e.s.GetApp(e.ctx, "shop-b"))
}

func deleteAppRevived(e *env) {
	e.apply(applying("shop", svc("shop", "web")))
	c := deleting("shop", "shop-web")
	c.DeleteApp = true
	e.apply(c)
	e.apply(applying("shop", svc("shop", "web")))
	same(e, "deleting", must[store.App](e)(e.s.GetApp(e.ctx, "shop")).Deleting, false)
}

func deleteAppNotAsked(e *env) {
	e.apply(applying("shop", svc("shop", "web")))
	e.apply(deleting("shop", "shop-web"))
	e.ok(e.s.DeletePendingTeardown(e.ctx, "shop-web"))
	e.ok(e.s.DeleteApp(e.ctx, "shop"))
	must[store.App](e)(e.s.GetApp(e.ctx, "shop"))
	e.ok(e.s.DeleteApp(e.ctx, "none"))
}
