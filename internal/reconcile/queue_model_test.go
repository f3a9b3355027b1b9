package reconcile

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// modelSteps is how many actions one run takes; -rapid.checks says how many runs.
const modelSteps = 80

// modelKey is what the rules say about one key, kept in the plainest form.
type modelKey struct {
	running  bool
	asked    bool // must run (again)
	event    bool // would like to, unless it is failing
	desired  bool // what is wanted changed since its pass began
	failures int
	wish     time.Duration
	retry    time.Duration
	parked   bool
	gone     bool // forgotten while it cannot go yet
}

// model drives the queue and the rules side by side.
type model struct {
	q       *queue
	now     time.Duration
	keys    map[Key]*modelKey
	running map[Key]*entry
	groups  map[Key]string
	limits  map[string]int
}

func (m *model) at(k Key) *modelKey {
	if m.keys[k] == nil {
		m.keys[k] = &modelKey{}
	}
	return m.keys[k]
}

// wake is the table of doc.go.
func (m *model) wake(k Key, w wake) {
	mk := m.at(k)
	mk.gone = false
	switch w {
	case wakeDesired:
		mk.asked, mk.desired, mk.failures, mk.retry = true, true, 0, 0
	case wakeTimed:
		mk.asked = true
	case wakeEvent:
		mk.event = true
	}
	m.rest(k)
}

// rest settles a key that is not running.
func (m *model) rest(k Key) {
	mk := m.keys[k]
	if mk.running {
		return
	}
	if mk.event && mk.failures == 0 {
		mk.asked = true
	}
	mk.event = false
	if mk.gone && !mk.asked && !mk.parked {
		delete(m.keys, k)
	}
}

func (m *model) advance(d time.Duration) {
	m.now += d
	m.q.fire(m.now)
	for k, mk := range m.keys {
		due := false
		for _, at := range []*time.Duration{&mk.wish, &mk.retry} {
			if *at != 0 && *at <= m.now {
				*at, due = 0, true
			}
		}
		if due {
			m.wake(k, wakeTimed)
		}
	}
}

func (m *model) claim(t *rapid.T) {
	ent := m.q.claim()
	if ent == nil {
		return
	}
	group := m.groups[ent.key]
	if !m.q.admit(m.now, ent, group, m.limits[group]) {
		return
	}
	mk := m.keys[ent.key]
	if mk == nil || mk.running || mk.parked || !mk.asked {
		t.Fatalf("%s runs, the rules say %+v", ent.key, mk)
	}
	mk.running, mk.asked, mk.event, mk.desired, mk.retry = true, false, false, false, 0
	m.running[ent.key] = ent
}

func (m *model) end(t *rapid.T) {
	k := m.anyRunning(t)
	if k == (Key{}) {
		return
	}
	v := verdict{wait: time.Duration(rapid.IntRange(0, 50).Draw(t, "wait"))}
	switch rapid.SampledFrom([]string{"ok", "failed", "interrupted", "gone"}).Draw(t, "verdict") {
	case "failed":
		v.failed = true
		v.wait++ // a failed pass always has a backoff
	case "interrupted":
		v.interrupted = true
	case "gone":
		v.gone, v.wait = true, 0
	}
	mk, ent := m.keys[k], m.running[k]
	delete(m.running, k)
	m.q.settle(m.now, ent, v)
	m.q.finish(m.now, ent)

	mk.running = false
	mk.end(m.now, v)
	m.rest(k)
}

func (mk *modelKey) end(now time.Duration, v verdict) {
	switch {
	case mk.gone:
	case v.interrupted:
		mk.asked = true
	case v.gone && !mk.asked && !mk.event:
		*mk = modelKey{parked: mk.parked, gone: true}
	case mk.desired:
		mk.failures = 0
	default:
		mk.failures++
		if !v.failed {
			mk.failures = 0
		}
		if v.wait > 0 {
			mk.retry = now + v.wait
		}
	}
}

// anyRunning is one of the running keys, the zero key when there is none.
func (m *model) anyRunning(t *rapid.T) Key {
	var all []Key
	for _, k := range modelKeys {
		if m.running[k] != nil {
			all = append(all, k)
		}
	}
	if len(all) == 0 {
		return Key{}
	}
	return rapid.SampledFrom(all).Draw(t, "running")
}

var modelKeys = keys("k", 5)

func (m *model) check(t *rapid.T) {
	taken := map[string]int{}
	for k, ent := range m.q.entries {
		mk := m.keys[k]
		if mk == nil {
			t.Fatalf("%s is known, the rules have forgotten it: %+v", k, ent)
		}
		if (ent.state == stateRunning) != mk.running || (ent.park != nil) != mk.parked {
			t.Fatalf("%s: %+v, the rules say %+v", k, ent, mk)
		}
		if ent.wish != mk.wish || ent.retry != mk.retry || int(ent.failures) != mk.failures {
			t.Fatalf("%s: %+v, the rules say %+v", k, ent, mk)
		}
		waits := ent.state == stateQueued || ent.state == stateBlocked
		if want := mk.asked && !mk.running && !mk.parked; waits != want {
			t.Fatalf("%s waits: %t, want %t (%+v)", k, waits, want, mk)
		}
		if mk.failures > 0 && !mk.running && !mk.asked && mk.retry == 0 {
			t.Fatalf("%s is failing and nothing will run it: %+v", k, mk)
		}
		if ent.group != nil {
			taken[ent.group.name]++
		}
	}
	if len(m.keys) != len(m.q.entries) {
		t.Fatalf("%d keys are known, want %d", len(m.q.entries), len(m.keys))
	}
	m.checkGroups(t, taken)
}

func (m *model) checkGroups(t *rapid.T, taken map[string]int) {
	for name, g := range m.q.groups {
		if g.taken != taken[name] {
			t.Fatalf("group %s counts %d slots, %d are owned", name, g.taken, taken[name])
		}
		if g.waiting.n > 0 && !g.full() {
			t.Fatalf("group %s has free slots and %d keys wait", name, g.waiting.n)
		}
	}
}

// finishAll shows that nothing is lost: without new wake-ups everything that
// was asked for has run.
func (m *model) finishAll(t *rapid.T) {
	for k, mk := range m.keys {
		if mk.parked {
			m.q.unpark(m.now, m.q.entries[k])
			mk.parked = false
			m.rest(k)
		}
	}
	m.check(t)
	for range 10 * len(modelKeys) {
		for range modelKeys {
			m.claim(t)
		}
		for k, ent := range m.running {
			delete(m.running, k)
			m.q.settle(m.now, ent, verdict{})
			m.q.finish(m.now, ent)
			mk := m.keys[k]
			mk.running, mk.failures = false, 0
			m.rest(k)
		}
		m.check(t)
	}
	for k, mk := range m.keys {
		if mk.asked {
			t.Fatalf("%s never ran: %+v, %+v", k, mk, m.q.entries[k])
		}
	}
	if len(m.q.groups) > 0 {
		t.Fatalf("groups remain: %v", m.q.groups)
	}
}

func TestTheQueueFollowsTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{
			q: newQueue(), now: 1,
			keys: map[Key]*modelKey{}, running: map[Key]*entry{},
			groups: map[Key]string{}, limits: map[string]int{"a": 1, "b": 2},
		}
		key := func() Key { return rapid.SampledFrom(modelKeys).Draw(t, "key") }
		aLane := func() lane { return rapid.SampledFrom([]lane{laneSoon, laneBackground}).Draw(t, "lane") }
		actions := map[string]func(){
			"enqueue": func() { k := key(); m.q.ask(m.now, k, wakeDesired, laneSoon); m.wake(k, wakeDesired) },
			"kick":    func() { k := key(); m.q.ask(m.now, k, wakeEvent, aLane()); m.wake(k, wakeEvent) },
			"timed":   func() { k := key(); m.q.ask(m.now, k, wakeTimed, aLane()); m.wake(k, wakeTimed) },
			"after": func() {
				k, at := key(), m.now+time.Duration(rapid.IntRange(1, 50).Draw(t, "after"))
				m.q.after(m.q.entry(k), at)
				mk := m.at(k)
				mk.gone = false
				if mk.wish == 0 || at < mk.wish {
					mk.wish = at
				}
			},
			"advance":     func() { m.advance(time.Duration(rapid.IntRange(1, 30).Draw(t, "advance"))) },
			"claim":       func() { m.claim(t) },
			"claim again": func() { m.claim(t) },
			"end":         func() { m.end(t) },
			"move": func() {
				m.groups[key()] = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "group")
			},
			"limit": func() { m.limits["a"] = rapid.IntRange(0, 3).Draw(t, "limit") },
			"forget": func() {
				k := key()
				if ent := m.q.entries[k]; ent != nil {
					m.q.forget(ent)
					mk := m.keys[k]
					*mk = modelKey{running: mk.running, parked: mk.parked, gone: true}
					m.rest(k)
				}
			},
			"park": func() {
				k := key()
				if mk := m.keys[k]; mk != nil && mk.parked {
					return
				}
				m.q.parkKey(k)
				if m.keys[k] == nil {
					m.keys[k] = &modelKey{gone: true}
				}
				m.keys[k].parked = true
			},
			"unpark": func() {
				k := key()
				if mk := m.keys[k]; mk != nil && mk.parked {
					m.q.unpark(m.now, m.q.entries[k])
					mk.parked = false
					m.rest(k)
				}
			},
		}
		names := slices.Sorted(maps.Keys(actions))
		for range modelSteps {
			actions[rapid.SampledFrom(names).Draw(t, "action")]()
			m.check(t)
		}
		m.finishAll(t)
	})
}
