package proxy

import (
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// Owned is one owner's table. With Hold its requests are held whatever targets
// it names: they were valid before the machine started anew.
type Owned struct {
	Table table.Table
	Hold  bool
}

// Swap puts the merged tables into use. They must be normalized, valid and free
// of conflicts. When it returns, new requests go by the new tables only, a
// target that left gets none any more, and its drain has begun.
func (p *Proxy) Swap(tables ...Owned) {
	p.mu.Lock()
	defer p.mu.Unlock()

	next := &snapshot{hosts: make(map[string][]*route), changed: make(chan struct{})}
	wanted := make(map[targetKey]bool)
	services := make(map[string]*service)
	for i := range tables {
		for j := range tables[i].Table.Routes {
			tr := &tables[i].Table.Routes[j]
			r := &route{service: p.serviceLocked(tr.Service), path: tr.Path, hold: tr.HoldTimeout, maxBody: tr.MaxBodyBytes}
			services[tr.Service] = r.service
			for _, tt := range tr.Targets {
				k := targetKey{tt.ID, tt.Address, tt.Node}
				t := p.targetLocked(k)
				wanted[k] = true
				t.service, t.drainTimeout = tr.Service, tr.DrainTimeout
				if !tables[i].Hold {
					r.targets = append(r.targets, candidate{t, int64(tt.Weight)})
				}
			}
			for _, h := range tr.Hosts {
				next.hosts[h] = append(next.hosts[h], r)
			}
		}
	}
	sortByPath(next.hosts)

	for k := range wanted {
		p.keepLocked(p.targets[k])
	}
	old := p.snap.Swap(next)
	// Only now: a request that still saw the old snapshot may acquire a leaving
	// target until its bit is set, and is counted when it does.
	for k, t := range p.targets {
		if !wanted[k] {
			p.removeLocked(k, t)
		}
	}
	p.dropServicesLocked(services)
	close(old.changed)
	p.changes.now()
}

func (p *Proxy) serviceLocked(name string) *service {
	s := p.services[name]
	if s == nil {
		s = newService(name)
		p.services[name] = s
	}
	return s
}

// dropServicesLocked forgets services that are in no table and hold nothing.
func (p *Proxy) dropServicesLocked(inTable map[string]*service) {
	for name, s := range p.services {
		if inTable[name] == nil && s.held.Load() == 0 {
			delete(p.services, name)
		}
	}
}

func (p *Proxy) targetLocked(k targetKey) *target {
	t := p.targets[k]
	if t == nil {
		t = newTarget(p, k)
		p.targets[k] = t
	}
	return t
}

// keepLocked takes a target (back) into use.
func (p *Proxy) keepLocked(t *target) {
	if t.drainTimer != nil {
		t.drainTimer.Stop()
		t.drainTimer = nil
	}
	t.drainingSince = time.Time{}
	t.mu.Lock()
	t.ended = false
	t.mu.Unlock()
	t.setRemoved(false)
}

// removeLocked begins a target's drain, or forgets the target when nothing is
// in flight on it. Removing it again changes nothing.
func (p *Proxy) removeLocked(k targetKey, t *target) {
	if t.removed() {
		return
	}
	t.setRemoved(true)
	t.closeIdle()
	if t.inFlight() == 0 {
		p.forgetLocked(k, t)
		return
	}
	t.drainingSince = p.cfg.Now()
	t.drainTimer = time.AfterFunc(t.drainTimeout, func() { p.drainEnded(t) })
}

// forgetLocked drops a removed target with nothing in flight.
func (p *Proxy) forgetLocked(k targetKey, t *target) {
	if t.drainTimer != nil {
		t.drainTimer.Stop()
		t.drainTimer = nil
	}
	t.closeIdle()
	if p.targets[k] == t {
		delete(p.targets, k)
	}
}

// drainEnded ends what is still in flight on a target at its drain timeout.
func (p *Proxy) drainEnded(t *target) {
	p.mu.Lock()
	still := t.removed() && t.drainTimer != nil
	n := t.inFlight()
	service := t.service
	p.mu.Unlock()
	if !still {
		return
	}
	p.log.Info("drain timeout reached; ending what is in flight",
		"service", service, "target", t.id, "in_flight", n)
	t.end()
}
