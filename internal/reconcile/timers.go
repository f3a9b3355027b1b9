package reconcile

import (
	"container/heap"
	"time"
)

// timers orders the entries that wait for a time; the earliest is first. The
// engine arms one timer, for the first of them.
type timers []*entry

var _ heap.Interface = (*timers)(nil)

func (t timers) Len() int           { return len(t) }
func (t timers) Less(i, j int) bool { return t[i].due() < t[j].due() }
func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].slot, t[j].slot = int32(i), int32(j)
}

// Push and Pop are container/heap's; use update.
func (t *timers) Push(x any) {
	ent := x.(*entry)
	ent.slot = int32(len(*t))
	*t = append(*t, ent)
}

func (t *timers) Pop() any {
	old := *t
	last := len(old) - 1
	ent := old[last]
	old[last] = nil
	*t = old[:last]
	ent.slot = unslotted
	return ent
}

const unslotted = -1

// update puts the entry where its times say, which is nowhere when it has none.
func (t *timers) update(ent *entry) {
	switch due := ent.due(); {
	case due == 0 && ent.slot != unslotted:
		heap.Remove(t, int(ent.slot))
	case due != 0 && ent.slot == unslotted:
		heap.Push(t, ent)
	case due != 0:
		heap.Fix(t, int(ent.slot))
	}
}

// first is the earliest time in the heap, 0 when it is empty.
func (t timers) first() time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[0].due()
}
