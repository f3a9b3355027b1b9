package hosting

import (
	"time"
)

// steadied is a row of which no time is farther away than it was when it was set; nil
// when none is. A clock that was put back would have it waited for by so much longer.
func steadied(r *row, now time.Time, t Timing) *row {
	next, changed := r.clone(), false
	within := func(at *time.Time, most time.Duration) {
		if limit := now.Add(most); at.After(limit) {
			*at, changed = limit, true
		}
	}
	if op := next.Op; op != nil {
		most := t.Replace
		if op.Kind == opProvision || op.Kind == opRestore {
			most = t.Provision
		}
		within(&op.Deadline, most)
		within(&op.BackBy, most+t.Rollback)
	}
	within(&next.Names.LeaveBy, t.Leave)
	for service, w := range next.Names.Wishes {
		within(&w.Again, askLast*t.Ask)
		next.Names.Wishes[service] = w
	}
	if !changed {
		return nil
	}
	return next
}

// since is how long ago something was; of what seems to be yet to come it is not known,
// and long.
func since(at, now time.Time) time.Duration {
	if now.Before(at) {
		return 1<<63 - 1
	}
	return now.Sub(at)
}
