package backend

import (
	"context"
	"math"
	"time"
)

// loadTimeout bounds how long a provision waits for the load of all backends
// together.
const loadTimeout = 2 * time.Second

// cpuRatioEpsilon is how much two shares of CPU may differ and be the same.
const cpuRatioEpsilon = 1e-9

// Route is the first backend that takes the SKU, or the default.
func (r *Router) Route(sku string) Backend {
	if matches := r.bySKU[sku]; len(matches) > 0 {
		return matches[0].backend
	}
	return r.fallback
}

// RouteAll is every backend that takes the SKU, each once, in the order of the
// entries. Without any it is nil: the default is not among them.
func (r *Router) RouteAll(sku string) []Backend {
	if matches := r.bySKU[sku]; len(matches) > 0 {
		return backendsOf(matches)
	}
	return nil
}

// RouteRoundRobin is one of the backends that take the SKU, in turn, or the
// default. The turn is one for all SKUs and for RouteForProvision, so that it is
// even over many calls and not from one to the next.
func (r *Router) RouteRoundRobin(sku string) Backend {
	if matches := r.bySKU[sku]; len(matches) > 0 {
		return r.inTurn(matches)
	}
	return r.fallback
}

func (r *Router) inTurn(all []routed) Backend {
	return all[(r.turn.Add(1)-1)%uint64(len(all))].backend
}

// RouteForProvision is, of the backends that take the SKU, the one with the
// smallest share of its CPU allocated; without any it is the default. Among
// shares that are the same the fewest provisions in flight decide, by backend's
// name in inFlightByBackend, which may be nil, and then the turn.
//
// Where there is a choice every candidate is asked for its load at once, for at
// most two seconds in all. One that fails, or does not count, is not chosen,
// unless none says anything: then it is the turn of one, which is counted in
// RoutingFallback.
func (r *Router) RouteForProvision(ctx context.Context, sku string, inFlightByBackend map[string]int) Backend {
	matches := r.bySKU[sku]
	switch len(matches) {
	case 0:
		return r.fallback
	case 1:
		return matches[0].backend
	}
	least := r.leastLoaded(ctx, matches)
	if len(least) == 0 {
		if r.withoutSignal != nil {
			r.withoutSignal.Inc()
		}
		return r.inTurn(matches)
	}
	least = fewestInFlight(least, inFlightByBackend)
	if len(least) == 1 {
		return least[0].backend
	}
	return r.inTurn(least)
}

// leastLoaded asks the candidates for their load, and is those that have the
// smallest; none when nobody says.
func (r *Router) leastLoaded(ctx context.Context, candidates []routed) []routed {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	stats := askAll(ctx, candidates, func(ctx context.Context, b Backend) (*LoadStats, error) { return b.GetLoadStats(ctx) })

	smallest, ratios := math.Inf(1), make([]float64, len(candidates))
	for i, answer := range stats {
		ratios[i] = math.NaN()
		if ratio, ok := usableRatio(answer); ok {
			ratios[i], smallest = ratio, min(smallest, ratio)
			if r.allocated != nil {
				r.allocated.WithLabelValues(candidates[i].name).Set(ratio)
			}
		}
	}
	var least []routed
	for i, ratio := range ratios {
		if ratio-smallest <= cpuRatioEpsilon { // NaN is not
			least = append(least, candidates[i])
		}
	}
	return least
}

// usableRatio is not ok for an answer that says nothing, or nothing that can be:
// a backend with less than nothing allocated would get every lease.
func usableRatio(a answer[*LoadStats]) (ratio float64, ok bool) {
	if a.err != nil {
		return 0, false
	}
	ratio, ok = a.value.CPUAllocatedRatio()
	return ratio, ok && ratio >= 0 && !math.IsInf(ratio, 1)
}

// fewestInFlight is those of all that have the fewest.
func fewestInFlight(all []routed, inFlight map[string]int) []routed {
	var out []routed
	fewest := math.MaxInt
	for _, b := range all {
		n := inFlight[b.name]
		if n < fewest {
			fewest, out = n, nil
		}
		if n == fewest {
			out = append(out, b)
		}
	}
	return out
}
