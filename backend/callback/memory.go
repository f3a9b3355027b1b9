package callback

import (
	"container/list"
	"sync"
	"time"
)

// answer is what a callback was answered with.
type answer struct {
	code int
	text string // of an error; "" is none
}

// entry is one signature. It is under way until done is closed, which is after
// answer was written.
type entry struct {
	key    string
	done   chan struct{}
	answer answer
	at     time.Time
}

// memory knows the answers to signatures of late. Those under way are in byKey
// alone, those with an answer in order too, the oldest in front.
type memory struct {
	max   int
	clock func() time.Time

	mu       sync.Mutex
	byKey    map[string]*entry
	order    list.List // of *entry
	underWay int
}

func newMemory(most int, clock func() time.Time) *memory {
	return &memory{max: most, clock: clock, byKey: map[string]*entry{}}
}

// begin finds what became of a signature, or begins it: first says that the caller
// is to settle it. A nil entry is too many under way.
func (m *memory) begin(key string) (e *entry, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire()
	if e = m.byKey[key]; e != nil {
		return e, false
	}
	if m.underWay >= m.max {
		return nil, false
	}
	e = &entry{key: key, done: make(chan struct{})}
	m.byKey[key] = e
	m.underWay++
	return e, true
}

// settle gives the answer to all who wait for it. One that is not kept is
// forgotten at once, so that the next of the same signature is a first again.
func (m *memory) settle(e *entry, a answer, keep bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.answer, e.at = a, m.clock()
	close(e.done)
	m.underWay--
	if !keep {
		delete(m.byKey, e.key)
		return
	}
	m.order.PushBack(e)
	for m.order.Len() > m.max {
		m.forget(m.order.Front())
	}
}

// expire forgets what no signature can ask for any more.
func (m *memory) expire() {
	now := m.clock()
	for el := m.order.Front(); el != nil && now.Sub(el.Value.(*entry).at) > Window; el = m.order.Front() {
		m.forget(el)
	}
}

func (m *memory) forget(el *list.Element) {
	e := m.order.Remove(el).(*entry)
	delete(m.byKey, e.key)
}
