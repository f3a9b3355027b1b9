package storetest

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-cloud/berth/internal/store"
)

func attemptTests() []test {
	return []test{
		{"StateFollowsFromTheServices", attemptSettleRule},
		{"FinalServiceIsLeftAsItIs", attemptFinalRow},
		{"UpdateKeepsActionAndRelease", attemptKeeps},
		{"UpdateThatSaysNothingNewIsLeft", attemptNothingNew},
		{"UpdateOfAServiceOutsideTheAttemptIsNotFound", attemptUnknown},
		{"UnknownStateIsRefused", attemptBadState},
		{"AreListedNewestFirst", attemptList},
		{"OpenOnesOfAServiceAreListedOldestFirst", attemptOpen},
		{"AnyHistoryKeepsTheRules", attemptModel},
	}
}

// settled is the rule of store.Attempt, told again.
func settled(states []store.AttemptState) store.AttemptState {
	switch {
	case slices.ContainsFunc(states, func(s store.AttemptState) bool { return !s.Final() }):
		return store.AttemptRunning
	case slices.Contains(states, store.AttemptFailed):
		return store.AttemptFailed
	case slices.Contains(states, store.AttemptSuperseded):
		return store.AttemptSuperseded
	}
	return store.AttemptSucceeded
}

func attemptSettleRule(e *env) {
	const q, r, ok, bad, sup = store.AttemptQueued, store.AttemptRunning, store.AttemptSucceeded, store.AttemptFailed, store.AttemptSuperseded
	for i, tc := range []struct {
		states []store.AttemptState
		want   store.AttemptState
	}{
		{[]store.AttemptState{q, q}, r},
		{[]store.AttemptState{r, ok}, r},
		{[]store.AttemptState{bad, q}, r},
		{[]store.AttemptState{ok, ok}, ok},
		{[]store.AttemptState{ok, bad}, bad},
		{[]store.AttemptState{sup, ok}, sup},
		{[]store.AttemptState{sup, bad, ok}, bad},
		{[]store.AttemptState{sup, sup}, sup},
	} {
		e.Run(fmt.Sprint(tc.states), func(t *testing.T) {
			sub := &env{T: t, s: e.s, ctx: t.Context()}
			app := fmt.Sprintf("app%d", i)
			var put []store.DesiredService
			for n := range tc.states {
				put = append(put, svc(app, fmt.Sprintf("s%d", n)))
			}
			a := sub.apply(applying(app, put...))
			for n, state := range tc.states {
				sub.update(a.ID, put[n].Name, state)
			}
			got := sub.attempt(a.ID)
			same(sub, "state", got.State, tc.want)
			same(sub, "the suite's own rule", settled(tc.states), tc.want)
			same(sub, "has an end", !got.FinishedAt.IsZero(), tc.want.Final())
			if tc.want.Final() {
				same(sub, "finished", got.FinishedAt, at(60))
			}
		})
	}
}

func attemptFinalRow(e *env) {
	for _, final := range []store.AttemptState{store.AttemptSucceeded, store.AttemptFailed, store.AttemptSuperseded} {
		a := e.apply(applying("shop", svc("shop", "web"), svc("shop", "api")))
		e.update(a.ID, "shop-web", final)
		before := e.attempt(a.ID).Services[1]
		e.ok(e.s.UpdateAttemptService(e.ctx, store.AttemptService{AttemptID: a.ID, Service: "shop-web",
			State: store.AttemptRunning, Reason: "Other", Message: "late", UpdatedAt: at(70)}))
		same(e, "service", e.attempt(a.ID).Services[1], before)
	}
}

func attemptKeeps(e *env) {
	a := e.apply(applying("shop", svc("shop", "web")))
	e.ok(e.s.UpdateAttemptService(e.ctx, store.AttemptService{AttemptID: a.ID, Service: "shop-web",
		Action: "delete", State: store.AttemptRunning, ReleaseID: "shop-web-v1", UpdatedAt: at(1), DeadlineAt: at(50)}))
	e.update(a.ID, "shop-web", store.AttemptFailed)
	same(e, "service", e.attempt(a.ID).Services[0], store.AttemptService{AttemptID: a.ID, Service: "shop-web", Action: "update",
		State: store.AttemptFailed, Reason: "Because", ReleaseID: "shop-web-v1", UpdatedAt: at(60)})
}

func attemptNothingNew(e *env) {
	a := e.apply(applying("shop", svc("shop", "web")))
	u := store.AttemptService{AttemptID: a.ID, Service: "shop-web", State: store.AttemptRunning, Message: "starting", UpdatedAt: at(1), DeadlineAt: at(9)}
	e.ok(e.s.UpdateAttemptService(e.ctx, u))
	u.UpdatedAt = at(2)
	e.ok(e.s.UpdateAttemptService(e.ctx, u))
	same(e, "updated", e.attempt(a.ID).Services[0].UpdatedAt, at(1))
	u.DeadlineAt = at(10)
	e.ok(e.s.UpdateAttemptService(e.ctx, u))
	same(e, "updated", e.attempt(a.ID).Services[0].UpdatedAt, at(2))
}

func attemptUnknown(e *env) {
	a := e.apply(applying("shop", svc("shop", "web")))
	for _, u := range []store.AttemptService{
		{AttemptID: a.ID, Service: "shop-api", State: store.AttemptRunning},
		{AttemptID: a.ID + 1, Service: "shop-web", State: store.AttemptRunning},
	} {
		e.is(e.s.UpdateAttemptService(e.ctx, u), store.ErrNotFound)
	}
	_, err := e.s.GetAttempt(e.ctx, a.ID+1)
	e.is(err, store.ErrNotFound)
}

func attemptBadState(e *env) {
	a := e.apply(applying("shop", svc("shop", "web")))
	if err := e.s.UpdateAttemptService(e.ctx, store.AttemptService{AttemptID: a.ID, Service: "shop-web", State: "lost"}); err == nil {
		e.Error("state lost was accepted")
	}
	same(e, "state", e.attempt(a.ID).Services[0].State, store.AttemptQueued)
}

func attemptList(e *env) {
	var ids []int64
	for range 5 {
		ids = append(ids, e.apply(applying("shop", svc("shop", "web"), svc("shop", "api"))).ID)
		e.apply(applying("blog", svc("blog", "web")))
	}
	slices.Reverse(ids)
	for limit, want := range map[int][]int64{0: ids, 1: ids[:1], 3: ids[:3], 9: ids} {
		var got []int64
		for _, a := range must[[]store.Attempt](e)(e.s.ListAttempts(e.ctx, "shop", limit)) {
			got = append(got, a.ID)
			if full := e.attempt(a.ID); !slices.Equal(full.Services, a.Services) || len(a.Services) != 2 {
				e.Errorf("attempt %d is listed with services %v, has %v", a.ID, a.Services, full.Services)
			}
		}
		if !slices.Equal(got, want) {
			e.Errorf("limit %d: got %v, want %v", limit, got, want)
		}
	}
}

func attemptOpen(e *env) {
	e.apply(applying("shop", svc("shop", "web"), svc("shop", "api")))
	a := e.apply(applying("shop", svc("shop", "web")))
	e.update(a.ID, "shop-web", store.AttemptRunning)
	open := must[[]store.AttemptService](e)(e.s.OpenAttempts(e.ctx, "shop-web"))
	same(e, "open", len(open), 1)
	same(e, "service", open[0], e.attempt(a.ID).Services[0])
	e.update(a.ID, "shop-web", store.AttemptSucceeded)
	same(e, "open at the end", len(must[[]store.AttemptService](e)(e.s.OpenAttempts(e.ctx, "shop-web"))), 0)
	same(e, "open of the other", len(must[[]store.AttemptService](e)(e.s.OpenAttempts(e.ctx, "shop-api"))), 1)
}

// attemptModel plays changes and updates in any order: a service is open in at
// most one attempt, an attempt's state follows from its services, and what is
// final never changes.
func attemptModel(e *env) {
	run := 0
	states := rapid.SampledFrom([]store.AttemptState{store.AttemptQueued, store.AttemptRunning,
		store.AttemptSucceeded, store.AttemptFailed, store.AttemptSuperseded})
	rapid.Check(e.T, func(t *rapid.T) {
		run++
		app := fmt.Sprintf("app%d", run)
		names := []string{"a", "b", "c"}
		var ids []int64
		final := map[string]store.AttemptService{}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			name := rapid.SampledFrom(names).Draw(t, "service")
			if len(ids) == 0 || rapid.Bool().Draw(t, "change") {
				put := []store.DesiredService{svc(app, name)}
				if second := rapid.SampledFrom(names).Draw(t, "second"); second != name {
					put = append(put, svc(app, second))
				}
				a, err := e.s.ApplyChange(e.ctx, applying(app, put...))
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, a.ID)
			} else {
				id := rapid.SampledFrom(ids).Draw(t, "attempt")
				_ = e.s.UpdateAttemptService(e.ctx, store.AttemptService{AttemptID: id, Service: app + "-" + name,
					State: states.Draw(t, "state"), UpdatedAt: at(1)}) // not part of it: ErrNotFound
			}
			checkAttempts(t, e, app, final)
		}
	})
}

func checkAttempts(t *rapid.T, e *env, app string, final map[string]store.AttemptService) {
	all, err := e.s.ListAttempts(e.ctx, app, 0)
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]int64{}
	for _, a := range all {
		var states []store.AttemptState
		for _, u := range a.Services {
			states = append(states, u.State)
			key := fmt.Sprint(a.ID, u.Service)
			if was, ok := final[key]; ok && was != u {
				t.Fatalf("final row %+v became %+v", was, u)
			}
			if u.State.Final() {
				final[key] = u
			} else if other, twice := open[u.Service]; twice {
				t.Fatalf("%s is open in attempts %d and %d", u.Service, other, a.ID)
			} else {
				open[u.Service] = a.ID
			}
		}
		if want := settled(states); a.State != want || a.FinishedAt.IsZero() == want.Final() {
			t.Fatalf("attempt %d is %s (finished %v) with services %v", a.ID, a.State, a.FinishedAt, states)
		}
	}
}
