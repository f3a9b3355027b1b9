package reconcile

// group bounds how many keys of one node run at once. A slot that becomes free
// is handed to the longest-waiting key, which owns it from then on, also while
// it waits for a worker: nobody overtakes it, and a slot is never lost.
type group struct {
	name    string
	limit   int // 0: unbounded; as of the last time a key of the group was admitted
	taken   int
	waiting fifo
}

func (g *group) full() bool { return g.limit > 0 && g.taken >= g.limit }

// enterGroup takes a slot of the named group for the entry, or puts it at the
// end of those that wait for one. The empty name is no group and has no bound.
func (q *queue) enterGroup(ent *entry, name string, limit int) bool {
	if ent.group != nil && ent.group.name == name {
		return true // the slot was handed to it
	}
	q.leaveGroup(ent)
	if name == "" {
		return true
	}
	g := q.groups[name]
	if g == nil {
		g = &group{name: name}
		q.groups[name] = g
	}
	g.limit = max(limit, 0)
	q.handOn(g) // the bound may have been raised
	if g.full() {
		g.waiting.pushBack(ent)
		return false
	}
	g.taken++
	ent.group = g
	return true
}

// leaveGroup gives back the slot that the entry owns, if it owns one.
func (q *queue) leaveGroup(ent *entry) {
	g := ent.group
	if g == nil {
		return
	}
	ent.group = nil
	g.taken--
	q.handOn(g)
	if g.taken == 0 && g.waiting.n == 0 {
		delete(q.groups, g.name)
	}
}

// handOn gives the free slots of a group to those that wait for one.
func (q *queue) handOn(g *group) {
	for g.waiting.n > 0 && !g.full() {
		next := g.waiting.head
		g.waiting.remove(next)
		g.taken++
		next.group = g
		next.state = stateQueued
		q.lanes[next.lane].pushFront(next)
	}
}
