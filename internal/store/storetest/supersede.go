package storetest

import "github.com/berth-cloud/berth/internal/store"

func supersedeTests() []test {
	return []test{
		{"LaterAttemptTakesOverOpenServices", supersedeOpen},
		{"AttemptSettlesWhenItsLastOpenServiceIsTakenOver", supersedeSettles},
		{"FinalServicesStayAsTheyWere", supersedeFinal},
		{"PutWithoutActionTakesNothingOver", supersedeWithoutAction},
		{"DeletionTakesOverAnUpdate", supersedeByDeletion},
	}
}

func supersedeOpen(e *env) {
	first := e.apply(applying("shop", svc("shop", "web"), svc("shop", "api")))
	e.update(first.ID, "shop-web", store.AttemptRunning)
	other := e.apply(applying("blog", svc("blog", "web")))
	c := applying("shop", svc("shop", "web"))
	c.Now = at(7)
	second := e.apply(c)

	a := e.attempt(first.ID)
	same(e, "attempt", a.State, store.AttemptRunning)
	same(e, "api", a.Services[0].State, store.AttemptQueued)
	web := a.Services[1]
	same(e, "web", web.State, store.AttemptSuperseded)
	same(e, "web updated", web.UpdatedAt, at(7))
	if web.Reason == "" {
		e.Error("a superseded service has no reason")
	}
	open := must[[]store.AttemptService](e)(e.s.OpenAttempts(e.ctx, "shop-web"))
	same(e, "open attempts", len(open), 1)
	same(e, "open attempt", open[0].AttemptID, second.ID)
	same(e, "other app", e.attempt(other.ID).Services[0].State, store.AttemptQueued)

	e.update(first.ID, "shop-api", store.AttemptSucceeded)
	same(e, "attempt in the end", e.attempt(first.ID).State, store.AttemptSuperseded)
	same(e, "second attempt", e.attempt(second.ID).State, store.AttemptRunning)
}

func supersedeSettles(e *env) {
	first := e.apply(applying("shop", svc("shop", "web"), svc("shop", "api")))
	e.update(first.ID, "shop-api", store.AttemptFailed)
	second := e.apply(applying("shop", svc("shop", "web")))
	c := applying("shop", svc("shop", "web"), svc("shop", "api"))
	c.Now = at(8)
	e.apply(c)
	same(e, "first", e.attempt(first.ID).State, store.AttemptFailed)
	a := e.attempt(second.ID)
	same(e, "second", a.State, store.AttemptSuperseded)
	same(e, "second finished", a.FinishedAt, at(8))
}

func supersedeFinal(e *env) {
	first := e.apply(applying("shop", svc("shop", "web")))
	e.update(first.ID, "shop-web", store.AttemptSucceeded)
	before := e.attempt(first.ID)
	c := applying("shop", svc("shop", "web"))
	c.Now = at(99)
	e.apply(c)
	after := e.attempt(first.ID)
	same(e, "attempt", after.State, before.State)
	same(e, "finished", after.FinishedAt, before.FinishedAt)
	same(e, "service", after.Services[0], before.Services[0])
}

func supersedeWithoutAction(e *env) {
	first := e.apply(applying("shop", svc("shop", "web")))
	e.apply(store.Change{AppID: "shop", Kind: store.AttemptApply, Now: at(1), Put: []store.DesiredService{svc("shop", "web")}})
	same(e, "first", e.attempt(first.ID).State, store.AttemptRunning)
	same(e, "open", len(must[[]store.AttemptService](e)(e.s.OpenAttempts(e.ctx, "shop-web"))), 1)
}

func supersedeByDeletion(e *env) {
	first := e.apply(applying("shop", svc("shop", "web")))
	e.apply(deleting("shop", "shop-web"))
	same(e, "first", e.attempt(first.ID).State, store.AttemptSuperseded)
}
