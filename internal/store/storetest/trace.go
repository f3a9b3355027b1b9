package storetest

import (
	"fmt"
	"slices"

	"github.com/berth-cloud/berth/internal/store"
)

func traceTests() []test {
	return []test{
		{"EventsKeepTheirOrder", traceOrder},
		{"EventsAreListedAfterAnId", traceAfter},
		{"EventIdsGoOnAfterARestart", traceRestart},
		{"EventWithoutATimeGetsOne", traceTime},
	}
}

func event(attempt int64, message string) store.TraceEvent {
	return store.TraceEvent{AttemptID: attempt, Service: "shop-web", Time: at(0), Phase: "probe", Status: "info", Message: message}
}

func (e *env) trace(attempt, after int64, limit int) []store.TraceEvent {
	e.Helper()
	return must[[]store.TraceEvent](e)(e.s.ListTrace(e.ctx, attempt, after, limit))
}

func traceOrder(e *env) {
	e.ok(e.s.AppendTrace(e.ctx))
	e.ok(e.s.AppendTrace(e.ctx, event(1, "a"), event(2, "x"), event(1, "b")))
	e.ok(e.s.AppendTrace(e.ctx, event(0, "y"), event(1, "c")))
	var got []string
	last := int64(0)
	for _, v := range e.trace(1, 0, 0) {
		got = append(got, v.Message)
		if v.ID <= last {
			e.Errorf("event %d comes after %d", v.ID, last)
		}
		last = v.ID
	}
	if !slices.Equal(got, []string{"a", "b", "c"}) {
		e.Errorf("got %v", got)
	}
	same(e, "events of no attempt", e.trace(0, 0, 0)[0].Message, "y")
}

func traceAfter(e *env) {
	for i := range 6 {
		e.ok(e.s.AppendTrace(e.ctx, event(1, fmt.Sprint(i)), event(2, "other")))
	}
	all := e.trace(1, 0, 0)
	same(e, "all", len(all), 6)
	for _, tc := range []struct {
		after int64
		limit int
		want  []store.TraceEvent
	}{
		{0, 2, all[:2]}, {all[1].ID, 2, all[2:4]}, {all[3].ID, 9, all[4:]}, {all[5].ID, 0, nil}, {all[2].ID + 1, 0, all[3:]},
	} {
		if got := e.trace(1, tc.after, tc.limit); !slices.Equal(got, tc.want) {
			e.Errorf("after %d, at most %d: got %v, want %v", tc.after, tc.limit, got, tc.want)
		}
	}
}

func traceRestart(e *env) {
	a := e.apply(applying("shop", svc("shop", "web")))
	e.ok(e.s.AppendTrace(e.ctx, event(a.ID, "a"), event(a.ID, "b")))
	last := e.trace(a.ID, 0, 0)[1].ID
	e.update(a.ID, "shop-web", store.AttemptSucceeded)
	e.ok(e.s.Prune(e.ctx, 0))
	same(e, "events left", len(e.trace(a.ID, 0, 0)), 0)
	e.reopen()
	e.ok(e.s.AppendTrace(e.ctx, event(a.ID, "c")))
	if got := e.trace(a.ID, last, 0); len(got) != 1 || got[0].Message != "c" {
		e.Errorf("events after %d: %v", last, got)
	}
}

func traceTime(e *env) {
	e.ok(e.s.AppendTrace(e.ctx, store.TraceEvent{AttemptID: 1}))
	same(e, "without a time", e.trace(1, 0, 0)[0].Time.IsZero(), false)
}
