package proxy

// pick is the candidate with the fewest requests in flight for its weight,
// among those that were not tried yet; nil when none is left. Targets whose
// last dial failed a moment ago come after all others. Equals take turns.
func (r *route) pick(tried []*target, nowNano int64) *target {
	n := len(r.targets)
	if n == 0 {
		return nil
	}
	if n == 1 {
		if contains(tried, r.targets[0].t) {
			return nil
		}
		return r.targets[0].t
	}
	start := int(r.turn.Add(1)) % n
	var best *target
	var bestLoad, bestWeight int64
	bestBad := false
	for i := range n {
		c := r.targets[(start+i)%n]
		if contains(tried, c.t) {
			continue
		}
		load, bad := c.t.inFlight()+1, c.t.badTill.Load() > nowNano
		// load/weight < bestLoad/bestWeight, without dividing.
		if best == nil || (bestBad && !bad) || (bad == bestBad && load*bestWeight < bestLoad*c.weight) {
			best, bestLoad, bestWeight, bestBad = c.t, load, c.weight, bad
		}
	}
	return best
}

func contains(ts []*target, t *target) bool {
	for _, o := range ts {
		if o == t {
			return true
		}
	}
	return false
}
