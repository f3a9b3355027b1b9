package backend_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend"
)

func TestHealthIsThatOfEveryBackendInOrder(t *testing.T) {
	a, b, c := newRoutee("a"), newRoutee("b"), newRoutee("c")
	b.health = func(context.Context) error { return errors.New("the disk is gone") }
	c.health = func(context.Context) error { panic("a fault of the backend") }
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "healthy"}, []string{"backend"})
	r := newRouterOf(t, backend.RouterConfig{Backends: []backend.BackendEntry{entry(a), entry(b), entry(c)}, BackendHealthy: gauge})

	healths, ok := r.HealthCheck(t.Context())
	if ok || len(healths) != 3 {
		t.Fatalf("HealthCheck = %v, %v", healths, ok)
	}
	for i, want := range []backend.BackendHealth{
		{Name: "a", Healthy: true}, {Name: "b", Error: "the disk is gone"}, {Name: "c", Error: "the backend panicked: a fault of the backend"},
	} {
		if healths[i] != want {
			t.Errorf("backend %d is %+v; want %+v", i+1, healths[i], want)
		}
	}
	if got, want := metricValues(t, gauge), map[string]float64{"a": 1, "b": 0, "c": 0}; !maps.Equal(got, want) {
		t.Errorf("the gauges are %v; want %v", got, want)
	}
	b.health, c.health = nil, nil
	if healths, ok := r.HealthCheck(t.Context()); !ok || !healths[1].Healthy || metricValues(t, gauge)["b"] != 1 {
		t.Errorf("after both recovered: %v, %v", healths, ok)
	}
}

func TestHealthOnTheWireLeavesOutAnErrorThatIsNone(t *testing.T) {
	got, err := json.Marshal([]backend.BackendHealth{{Name: "a", Healthy: true}, {Name: "b", Error: "why"}})
	if want := `[{"name":"a","healthy":true},{"name":"b","healthy":false,"error":"why"}]`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

func TestHealthWaitsThreeSecondsForAllTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		defer close(stop)
		all := []*routee{newRoutee("a"), newRoutee("b"), newRoutee("c")}
		all[0].health = func(context.Context) error { <-stop; return nil } // deaf to its context
		all[1].health = func(context.Context) error { <-time.After(2900 * time.Millisecond); return nil }
		all[2].health = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		r := newRouter(t, entry(all[0]), entry(all[1]), entry(all[2]))

		start := time.Now()
		healths, ok := r.HealthCheck(t.Context())
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("it took %v; want 3s", took)
		}
		if ok || healths[0].Healthy || !healths[1].Healthy || healths[2].Healthy {
			t.Errorf("HealthCheck = %+v, %v", healths, ok)
		}
		if !strings.Contains(healths[0].Error, "no answer") {
			t.Errorf("of one that hangs it says %q", healths[0].Error)
		}
	})
}

func TestHealthEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newRoutee("a")
		a.health = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		r := newRouter(t, entry(a))
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, ok := r.HealthCheck(ctx); ok || time.Since(start) != time.Millisecond {
			t.Errorf("after %v it is %v", time.Since(start), ok)
		}
	})
}
