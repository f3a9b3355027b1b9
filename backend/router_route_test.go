package backend_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/berth-cloud/berth/backend"
)

func loadOf(allocated, total float64) func(context.Context) (*backend.LoadStats, error) {
	return func(context.Context) (*backend.LoadStats, error) {
		return &backend.LoadStats{TotalCPUCores: total, AllocatedCPUCores: allocated}, nil
	}
}

var errLoad = errors.New("no stats today")

func failingLoad(context.Context) (*backend.LoadStats, error) { return nil, errLoad }

func silentLoad(context.Context) (*backend.LoadStats, error) { return nil, nil }

func panickingLoad(context.Context) (*backend.LoadStats, error) { panic("a fault of the backend") }

type loads = []func(context.Context) (*backend.LoadStats, error)

// sharing makes a router with a backend "a", "b", … per load, all of which take
// "x", and its fallback counter and ratios.
func sharing(t *testing.T, all loads) (*backend.Router, prometheus.Counter, *prometheus.GaugeVec) {
	t.Helper()
	cfg := backend.RouterConfig{
		RoutingFallback:   prometheus.NewCounter(prometheus.CounterOpts{Name: "fallback"}),
		AllocatedCPURatio: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ratio"}, []string{"backend"}),
	}
	for i, load := range all {
		b := newRoutee(string(rune('a' + i)))
		b.load = load
		cfg.Backends = append(cfg.Backends, entry(b, "x"))
	}
	return newRouterOf(t, cfg), cfg.RoutingFallback, cfg.AllocatedCPURatio
}

func TestAProvisionGoesWhereTheLeastIsAllocated(t *testing.T) {
	for name, c := range map[string]struct {
		loads    loads
		inFlight map[string]int
		want     string // of four provisions, one letter each
		fallback float64
	}{
		"by share, not by cores":             {loads{loadOf(8, 10), loadOf(30, 100)}, nil, "bbbb", 0},
		"one that fails is not chosen":       {loads{failingLoad, loadOf(9, 10)}, nil, "bbbb", 0},
		"nor one that does not count":        {loads{silentLoad, loadOf(0, 0), loadOf(9, 10)}, nil, "cccc", 0},
		"nor one that panics":                {loads{panickingLoad, loadOf(9, 10)}, nil, "bbbb", 0},
		"nor one with less than nothing":     {loads{loadOf(-1, 10), loadOf(9, 10)}, nil, "bbbb", 0},
		"nor one with what is no number":     {loads{loadOf(math.NaN(), 10), loadOf(1, math.NaN()), loadOf(math.Inf(1), 10), loadOf(9, 10)}, nil, "dddd", 0},
		"one that is overcommitted may be":   {loads{failingLoad, loadOf(12, 10)}, nil, "bbbb", 0},
		"same shares: in turn":               {loads{loadOf(1, 2), loadOf(2, 4), loadOf(3, 4)}, nil, "abab", 0},
		"nearly the same are the same":       {loads{loadOf(0.5, 1), loadOf(0.5-5e-10, 1)}, nil, "abab", 0},
		"a little more is not the same":      {loads{loadOf(0.5, 1), loadOf(0.5-5e-9, 1)}, nil, "bbbb", 0},
		"same shares: fewest in flight":      {loads{loadOf(1, 2), loadOf(1, 2), loadOf(1, 2)}, map[string]int{"a": 2, "b": 1, "c": 3}, "bbbb", 0},
		"who has none in flight is not in":   {loads{loadOf(1, 2), loadOf(1, 2)}, map[string]int{"a": 1}, "bbbb", 0},
		"same in flight: in turn":            {loads{loadOf(1, 2), loadOf(1, 2), loadOf(1, 2)}, map[string]int{"a": 1, "b": 5, "c": 1}, "acac", 0},
		"the share comes before flights":     {loads{loadOf(1, 4), loadOf(1, 2)}, map[string]int{"a": 99}, "aaaa", 0},
		"nobody says anything: in turn":      {loads{failingLoad, silentLoad, panickingLoad}, map[string]int{"a": 9}, "abca", 4},
		"one alone is not asked":             {loads{panickingLoad}, nil, "aaaa", 0},
		"three at one share and one smaller": {loads{loadOf(1, 2), loadOf(1, 2), loadOf(0, 2), loadOf(1, 2)}, nil, "cccc", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r, fallback, _ := sharing(t, c.loads)
			got := ""
			for range 4 {
				got += nameOf(r.RouteForProvision(t.Context(), "x", c.inFlight))
			}
			if got != c.want {
				t.Errorf("four provisions went to %s; want %s", got, c.want)
			}
			if n := metricValues(t, fallback)[""]; n != c.fallback {
				t.Errorf("%v were counted as routed without load; want %v", n, c.fallback)
			}
		})
	}
}

func TestAProvisionOfASKUThatNobodyTakesGoesToTheDefaultUnasked(t *testing.T) {
	a, b := newRoutee("a"), newRoutee("b")
	b.load = func(context.Context) (*backend.LoadStats, error) {
		t.Error("the default was asked for its load")
		return nil, nil
	}
	r := newRouter(t, entry(a, "x"), defaultEntry(b))
	if got := nameOf(r.RouteForProvision(t.Context(), "none", nil)); got != "b" {
		t.Errorf("it went to %s; want b", got)
	}
}

func TestTheLoadThatWasSeenIsRecorded(t *testing.T) {
	r, _, ratio := sharing(t, loads{loadOf(1, 4), failingLoad, loadOf(3, 4)})
	r.RouteForProvision(t.Context(), "x", nil)
	if got, want := metricValues(t, ratio), map[string]float64{"a": 0.25, "c": 0.75}; !maps.Equal(got, want) {
		t.Errorf("the shares recorded are %v; want %v", got, want)
	}
}

func TestRoutingWithoutMetrics(t *testing.T) {
	a, b := newRoutee("a"), newRoutee("b")
	r := newRouter(t, entry(a, "x"), entry(b, "x"))
	if got := nameOf(r.RouteForProvision(t.Context(), "x", nil)); got != "a" {
		t.Errorf("the first turn went to %s", got)
	}
	b.SetLoadStats(&backend.LoadStats{TotalCPUCores: 1})
	if got := nameOf(r.RouteForProvision(t.Context(), "x", nil)); got != "b" {
		t.Errorf("the only one with a load is b; it went to %s", got)
	}
}

func TestAllAreAskedForTheirLoadAtOnceAndTwoSecondsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(answer float64) func(context.Context) (*backend.LoadStats, error) {
			return func(ctx context.Context) (*backend.LoadStats, error) {
				select {
				case <-time.After(1900 * time.Millisecond):
					return &backend.LoadStats{TotalCPUCores: 1, AllocatedCPUCores: answer}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
		}
		stop := make(chan struct{})
		defer close(stop)
		deaf := func(context.Context) (*backend.LoadStats, error) { // to its context
			<-stop
			return nil, nil
		}
		hanging := func(ctx context.Context) (*backend.LoadStats, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r, fallback, _ := sharing(t, loads{deaf, slow(0.9), slow(0.4), hanging})
		start := time.Now()
		if got := nameOf(r.RouteForProvision(t.Context(), "x", nil)); got != "c" {
			t.Errorf("it went to %s; want c", got)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("it took %v; want 2s", took)
		}
		if n := metricValues(t, fallback)[""]; n != 0 {
			t.Errorf("%v were counted as routed without load", n)
		}
	})
}

func TestACallerThatGivesUpGetsABackendAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging := func(ctx context.Context) (*backend.LoadStats, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r, fallback, _ := sharing(t, loads{hanging, hanging})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		start := time.Now()
		if got := nameOf(r.RouteForProvision(ctx, "x", nil)); got != "a" {
			t.Errorf("it went to %s; want a, whose turn it is", got)
		}
		if took := time.Since(start); took != 10*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if n := metricValues(t, fallback)[""]; n != 1 {
			t.Errorf("%v were counted as routed without load; want 1", n)
		}
	})
}

func TestABurstOfProvisionsSpreadsEvenlyOverEqualBackends(t *testing.T) {
	r, _, _ := sharing(t, loads{loadOf(1, 2), loadOf(1, 2), loadOf(1, 2)})
	var mu sync.Mutex
	var burst sync.WaitGroup
	counts := map[string]int{}
	for range 30 {
		burst.Go(func() {
			name := nameOf(r.RouteForProvision(t.Context(), "x", nil))
			mu.Lock()
			defer mu.Unlock()
			counts[name]++
		})
	}
	burst.Wait()
	if counts["a"] != 10 || counts["b"] != 10 || counts["c"] != 10 {
		t.Errorf("30 provisions went to %v; want 10 each", counts)
	}
}
