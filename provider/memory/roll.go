package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/provider"
)

// way is how a rollout goes: what was asked for, as far as it is possible.
func (r *record) way(services []provider.ServiceSpec) string {
	switch {
	case r.Serving.IsNil():
		return provider.StrategyBlueGreen
	case exclusive(services), exclusive(r.services(r.Serving)):
		return provider.StrategyRecreate
	case r.Strategy == "":
		return provider.StrategyBlueGreen
	}
	return r.Strategy
}

// roll makes a pass from what serves towards the target.
func (p *Provider) roll(ctx context.Context, rec *record, all []seen) (time.Duration, error) {
	m := p.members(rec, rec.Target, rec.Turn, all)
	old := p.members(rec, rec.Serving, rec.ServingTurn, all)
	stale := m.others(rec.Replicas)
	if !rec.Serving.IsNil() {
		stale = nil
		for _, s := range m.others(rec.Replicas) {
			if s.group.release != rec.Serving || s.group.turn != rec.ServingTurn {
				stale = append(stale, s)
			}
		}
	}
	if next, err := p.retire(ctx, stale); err != nil || next > 0 && exclusive(m.services) {
		return next, err
	}
	switch rec.way(m.services) {
	case provider.StrategyRecreate:
		if next, err := p.endPass(ctx, old.all); err != nil || next > 0 {
			return next, err
		}
	case provider.StrategyRolling:
		return p.rolling(ctx, rec, m, old)
	}
	ready, err := p.raise(ctx, rec, m, rec.Replicas)
	if err != nil || ready < rec.Replicas {
		return poll, err
	}
	return poll, p.serve(ctx, rec)
}

// raise brings up the first groups of the target, as many as are wanted, and
// returns how many are ready.
func (p *Provider) raise(ctx context.Context, rec *record, m members, groups int) (ready int, err error) {
	for replica := range groups {
		g := m.group(replica)
		done, err := p.bringUp(ctx, rec, g, false)
		if err != nil {
			return ready, err
		}
		if done && g.stable(p.cluster.now(), rec.window()) {
			ready++
			continue
		}
		if err := p.late(rec, g); err != nil {
			return ready, err
		}
	}
	return ready, nil
}

// late is a failure when a group had all the time that it may take.
func (p *Provider) late(rec *record, g members) error {
	began := rec.Since
	if len(g.all) > 0 && g.all[0].madeAt.After(began) {
		began = g.all[0].madeAt
	}
	if p.cluster.now().Before(began.Add(rec.patience())) {
		return nil
	}
	service, text := g.problem()
	reason := provider.ReasonReadyTimeout
	if s, ok := g.find(service); ok && s.waitsFor != "" {
		reason = provider.ReasonVolumeInUse
	}
	return &failure{service, reason, fmt.Sprintf("replica %d was not ready within %s: %s", g.replica, rec.patience(), text)}
}

// stable reports whether every member of a group that is ready has been so for
// long enough.
func (m members) stable(now time.Time, window time.Duration) bool {
	for _, s := range m.all {
		if s.state == running && now.Before(s.health.since.Add(window)) && s.check() != nil {
			return false
		}
	}
	return true
}

// rolling replaces a few groups at a time. Which old one goes is the last.
func (p *Provider) rolling(ctx context.Context, rec *record, m, old members) (time.Duration, error) {
	surge, unavailable, err := rec.Rollout.Limits(rec.Replicas)
	if err != nil {
		return 0, err
	}
	begun := m.count()
	ready, err := p.raise(ctx, rec, m, begun)
	if err != nil {
		return 0, err
	}
	oldReady, oldCount := 0, 0
	var ending []seen
	for replica := old.count() - 1; replica >= 0; replica-- {
		g := old.group(replica)
		if len(g.all) == 0 {
			continue
		}
		oldCount++
		isReady := g.ready()
		if isReady {
			oldReady++
		}
		asked := !g.all[0].askedAt.IsZero()
		if asked || !isReady {
			ending = append(ending, g.all...)
		}
	}
	if spare := ready + oldReady - (rec.Replicas - unavailable); spare > 0 && oldReady > 0 {
		for replica := old.count() - 1; replica >= 0 && spare > 0; replica-- {
			if g := old.group(replica); g.ready() {
				ending = append(ending, g.all...)
				spare--
			}
		}
	}
	if _, err := p.retire(ctx, ending); err != nil {
		return 0, err
	}
	if begun < rec.Replicas && begun+oldCount < rec.Replicas+surge {
		if _, err := p.raise(ctx, rec, m, begun+1); err != nil {
			return 0, err
		}
	}
	if ready == rec.Replicas && oldCount == 0 {
		return poll, p.serve(ctx, rec)
	}
	return poll, nil
}

// count is one above the highest replica that there is, also when it was only begun.
func (m members) count() int {
	most := 0
	for _, s := range m.all {
		most = max(most, s.group.replica+1)
	}
	return most
}

// serve makes the target what serves.
func (p *Provider) serve(ctx context.Context, rec *record) error {
	rec.Serving, rec.ServingTurn = rec.Target, rec.Turn
	if n := len(rec.Served); n == 0 || rec.Served[n-1] != rec.Target {
		rec.Served = append(rec.Served, rec.Target)
	}
	rec.release(rec.Target).Good = true
	p.log.InfoContext(ctx, "release serves", "instance", rec.Request.InstanceID, "release", rec.Target)
	return p.save(ctx, rec)
}
