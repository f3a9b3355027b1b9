package reconcile

// fifo is a queue of entries linked through the entries themselves, so that
// queueing a key allocates nothing and a key can leave from the middle. An
// entry is in at most one fifo at a time.
type fifo struct {
	head, tail *entry
	n          int
}

func (f *fifo) pushBack(ent *entry) {
	ent.prev, ent.next, ent.in = f.tail, nil, f
	if f.tail == nil {
		f.head = ent
	} else {
		f.tail.next = ent
	}
	f.tail = ent
	f.n++
}

func (f *fifo) pushFront(ent *entry) {
	ent.prev, ent.next, ent.in = nil, f.head, f
	if f.head == nil {
		f.tail = ent
	} else {
		f.head.prev = ent
	}
	f.head = ent
	f.n++
}

func (f *fifo) remove(ent *entry) {
	if ent.prev == nil {
		f.head = ent.next
	} else {
		ent.prev.next = ent.next
	}
	if ent.next == nil {
		f.tail = ent.prev
	} else {
		ent.next.prev = ent.prev
	}
	ent.prev, ent.next, ent.in = nil, nil, nil
	f.n--
}
