package storetest

import (
	"fmt"

	"github.com/berth-cloud/berth/internal/store"
)

func pruneTests() []test {
	return []test{
		{"SettledAttemptsGoWithTheirTrace", pruneAttempts},
		{"OpenAttemptNeverGoes", pruneOpen},
		{"TraceIsBoundedPerServiceOfAnAttempt", pruneTrace},
		{"KeptLogsAreBoundedPerService", pruneLogs},
		{"KeptLogsGoWithTheirApp", pruneLogsOfGone},
		{"DesiredStateStays", pruneDesired},
		{"NegativeIsRefused", pruneNegative},
	}
}

func pruneAttempts(e *env) {
	var shop, blog []int64
	for range 5 {
		for app, ids := range map[string]*[]int64{"shop": &shop, "blog": &blog} {
			a := e.apply(applying(app, svc(app, "web")))
			e.update(a.ID, app+"-web", store.AttemptSucceeded)
			e.ok(e.s.AppendTrace(e.ctx, event(a.ID, "a")))
			*ids = append(*ids, a.ID)
		}
	}
	e.ok(e.s.Prune(e.ctx, 2))
	for _, ids := range [][]int64{shop, blog} {
		for i, id := range ids {
			_, err := e.s.GetAttempt(e.ctx, id)
			if kept := i >= 3; kept != (err == nil) || kept != (len(e.trace(id, 0, 0)) == 1) {
				e.Errorf("attempt %d of 5: %v, %d events", i+1, err, len(e.trace(id, 0, 0)))
			}
		}
	}
}

func pruneOpen(e *env) {
	open := e.apply(applying("shop", svc("shop", "worker"), svc("shop", "web")))
	for i := range store.MinTraceKept + 10 {
		e.ok(e.s.AppendTrace(e.ctx, event(open.ID, fmt.Sprint(i))))
	}
	for range 4 {
		a := e.apply(applying("shop", svc("shop", "web")))
		e.update(a.ID, "shop-web", store.AttemptFailed)
	}
	e.ok(e.s.Prune(e.ctx, 0))
	same(e, "state", e.attempt(open.ID).State, store.AttemptRunning)
	same(e, "services", len(e.attempt(open.ID).Services), 2)
	same(e, "events", len(e.trace(open.ID, 0, 0)), store.MinTraceKept+10)
	same(e, "attempts", len(must[[]store.Attempt](e)(e.s.ListAttempts(e.ctx, "shop", 0))), 1)
	e.update(open.ID, "shop-worker", store.AttemptSucceeded)
	e.ok(e.s.Prune(e.ctx, 0))
	same(e, "attempts at last", len(must[[]store.Attempt](e)(e.s.ListAttempts(e.ctx, "shop", 0))), 0)
}

func pruneTrace(e *env) {
	a := e.apply(applying("shop", svc("shop", "web")))
	e.update(a.ID, "shop-web", store.AttemptSucceeded)
	var events []store.TraceEvent
	for i := range store.MinTraceKept + 50 {
		other := event(a.ID, fmt.Sprint(i))
		other.Service = "shop-api"
		events = append(events, event(a.ID, fmt.Sprint(i)), event(0, fmt.Sprint(i)))
		if i < 3 {
			events = append(events, other)
		}
	}
	e.ok(e.s.AppendTrace(e.ctx, events...))
	e.ok(e.s.Prune(e.ctx, store.MinTraceKept+20))
	same(e, "events with more kept", len(e.trace(a.ID, 0, 0)), store.MinTraceKept+20+3)
	e.ok(e.s.Prune(e.ctx, 1))
	of := e.trace(a.ID, 0, 0)
	same(e, "events of the attempt", len(of), store.MinTraceKept+3)
	same(e, "the newest", of[len(of)-1].Message, fmt.Sprint(store.MinTraceKept+49))
	none := e.trace(0, 0, 0)
	same(e, "events of none", len(none), store.MinTraceKept)
	same(e, "the oldest of none", none[0].Message, "50")
}

func pruneLogs(e *env) {
	for i := range 5 {
		e.ok(e.s.SaveKeptLog(e.ctx, keptLog(fmt.Sprint("c", i), i)))
	}
	other := keptLog("other", 1)
	other.Service = "shop-api"
	e.ok(e.s.SaveKeptLog(e.ctx, other))
	e.ok(e.s.Prune(e.ctx, 2))
	got := e.keptLogs("shop-web", 0)
	same(e, "logs", len(got), 2)
	same(e, "oldest", got[1].Container, "c3")
	same(e, "logs of the other service", len(e.keptLogs("shop-api", 0)), 1)
}

// pruneLogsOfGone: the logs of a service that its app gave up can still be read,
// those of an app that is gone cannot.
func pruneLogsOfGone(e *env) {
	for _, app := range []string{"shop", "blog"} {
		e.apply(applying(app, svc(app, "web")))
		r := release(app+"-web", "web@sha256:aa", "n1")
		r.AppID = app
		e.release(r)
		l := keptLog(app+"-c", 1)
		l.Service = app + "-web"
		e.ok(e.s.SaveKeptLog(e.ctx, l))
	}
	e.apply(deleting("shop", "shop-web"))
	gone := deleting("blog", "blog-web")
	gone.DeleteApp = true
	e.apply(gone)
	e.ok(e.s.Prune(e.ctx, 5))
	same(e, "logs while containers are removed", len(e.keptLogs("blog-web", 0)), 1)
	e.ok(e.s.DeletePendingTeardown(e.ctx, "shop-web"))
	e.ok(e.s.DeletePendingTeardown(e.ctx, "blog-web"))
	e.ok(e.s.Prune(e.ctx, 5))
	same(e, "logs of the app that is gone", len(e.keptLogs("blog-web", 0)), 0)
	same(e, "logs of the other", len(e.keptLogs("shop-web", 0)), 1)
}

func pruneDesired(e *env) {
	a := e.apply(applying("shop", svc("shop", "web", "shop.example")))
	e.update(a.ID, "shop-web", store.AttemptSucceeded)
	r := e.release(release("shop-web", "web@sha256:aa", "n1"))
	e.activate(activeRow("shop-web", r.ID))
	e.ok(e.s.AddPendingTeardown(e.ctx, "shop-old", ""))
	e.ok(e.s.Prune(e.ctx, 0))
	e.desired("shop-web")
	must[store.Release](e)(e.s.GetRelease(e.ctx, r.ID))
	same(e, "active", len(e.routes().Active), 1)
	same(e, "teardowns", len(e.teardowns()), 1)
	must[store.App](e)(e.s.GetApp(e.ctx, "shop"))
}

func pruneNegative(e *env) {
	if err := e.s.Prune(e.ctx, -1); err == nil {
		e.Error("keeping -1 was accepted")
	}
}
