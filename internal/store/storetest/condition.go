package storetest

import (
	"slices"

	"github.com/berth-cloud/berth/internal/reconcile"
)

func conditionTests() []test {
	return []test{
		{"GivenOnesAreAllThereAre", conditionReplaced},
		{"AreKeptPerController", conditionPerController},
		{"UnknownControllerHasNone", conditionUnknown},
		{"DeletedControllerIsForgotten", conditionDeleted},
	}
}

func condition(typ string, status reconcile.ConditionStatus) reconcile.Condition {
	return reconcile.Condition{Type: typ, Status: status, Reason: "Because", Message: "it is so", LastTransitionTime: at(3)}
}

func (e *env) conditions(controller string) []reconcile.Condition {
	e.Helper()
	return must[[]reconcile.Condition](e)(e.s.GetConditions(e.ctx, controller))
}

func conditionReplaced(e *env) {
	for _, given := range [][]reconcile.Condition{
		{condition("Ready", reconcile.True), condition("Available", reconcile.True)},
		{condition("Available", reconcile.False), condition("Ready", reconcile.Unknown)},
		{condition("Available", reconcile.False), condition("Ready", reconcile.Unknown)},
		{condition("Ready", reconcile.True)},
		{},
		{condition("Ready", reconcile.False)},
	} {
		e.ok(e.s.UpsertConditions(e.ctx, "application/shop-web", given))
		if got := e.conditions("application/shop-web"); !slices.Equal(got, given) {
			e.Errorf("got %v, want %v", got, given)
		}
	}
}

func conditionPerController(e *env) {
	web, api := []reconcile.Condition{condition("Ready", reconcile.True)}, []reconcile.Condition{condition("Ready", reconcile.False)}
	e.ok(e.s.UpsertConditions(e.ctx, "application/shop-web", web))
	e.ok(e.s.UpsertConditions(e.ctx, "application/shop-api", api))
	e.reopen()
	all := must[map[string][]reconcile.Condition](e)(e.s.ListConditions(e.ctx))
	same(e, "controllers", len(all), 2)
	if !slices.Equal(all["application/shop-web"], web) || !slices.Equal(all["application/shop-api"], api) {
		e.Errorf("got %v", all)
	}
}

func conditionUnknown(e *env) {
	same(e, "conditions", len(e.conditions("application/none")), 0)
	same(e, "controllers", len(must[map[string][]reconcile.Condition](e)(e.s.ListConditions(e.ctx))), 0)
}

func conditionDeleted(e *env) {
	e.ok(e.s.UpsertConditions(e.ctx, "application/shop-web", []reconcile.Condition{condition("Ready", reconcile.True)}))
	e.ok(e.s.DeleteConditions(e.ctx, "application/shop-web"))
	e.ok(e.s.DeleteConditions(e.ctx, "application/shop-web"))
	same(e, "controllers", len(must[map[string][]reconcile.Condition](e)(e.s.ListConditions(e.ctx))), 0)
}
