package backend_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend"
)

// An open breaker says nothing about a lease: whoever closed one for it would take
// down what runs because a backend was away.
func TestAnOpenBreakerSaysNothingOfALease(t *testing.T) {
	c := clientTo(t, saysJSON(500, `{"error":"no"}`), func(cfg *backend.HTTPClientConfig) { cfg.CBFailureThresh = 1 })
	_ = clientOps["info"](t.Context(), c)
	for op, do := range clientOps {
		want := backend.ErrCircuitOpen
		if op == "health" {
			want = nil
		}
		if err := do(t.Context(), c); !onlyIs(err, want) {
			t.Errorf("%s is %v; want nothing but %v", op, err, want)
		}
	}
}

// A load that cannot be had is counted under its own name, where an operator looks
// for why leases are not spread.
func TestALoadThatCannotBeHadIsCounted(t *testing.T) {
	total := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total"}, []string{"backend", "operation", "status"})
	c := clientTo(t, saysJSON(500, `{"error":"no"}`), func(cfg *backend.HTTPClientConfig) { cfg.RequestsTotal = total })
	r := newRouter(t, entry(c, "x"), entry(newRoutee("b"), "x"))
	r.RouteForProvision(t.Context(), "x", nil)
	if got := metricValues(t, total); len(got) != 1 || got["b1,get_load_stats,error"] != 1 {
		t.Errorf("counted are %v", got)
	}
}

// A program that links this package shows no metric of it that it did not ask for.
func TestNothingIsRegisteredByItself(t *testing.T) {
	c := clientTo(t, func(w http.ResponseWriter, r *http.Request) { saysJSON(200, `{"status":"healthy"}`)(w, r) })
	r := newRouter(t, entry(c, "x"))
	if _, ok := r.HealthCheck(t.Context()); !ok {
		t.Fatal("it is not healthy")
	}
	_, _ = c.GetInfo(t.Context(), lease1)
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if name := f.GetName(); !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
			t.Errorf("%s is registered", name)
		}
	}
}
