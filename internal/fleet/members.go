package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/berth-cloud/berth/internal/docker"
)

// standing is what can be expected of a node.
type standing int

const (
	online standing = iota
	away            // it cannot be asked; what is on it may go on
	over            // gone, or given up by who takes the roll: nothing is on it
)

// members are the machines of now, by id.
func (f *Fleet) members() map[string]Member {
	if f.o.Members == nil {
		return nil
	}
	all := f.o.Members.Members()
	out := make(map[string]Member, len(all))
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range all {
		if m.ID == "" {
			continue
		}
		out[m.ID] = m
		switch {
		case m.Gone:
			f.gone[m.ID] = true
			delete(f.nodes, m.ID)
		case f.gone[m.ID]:
			delete(f.gone, m.ID)
		}
	}
	return out
}

// roll is the nodes as they stand at one moment.
type roll struct {
	f       *Fleet
	members map[string]Member
	own     bool            // an app takes it, which gave up
	lost    map[string]bool // these, and no others
	gone    map[string]bool
	ids     []string // this machine first, all that are not over
	others  bool     // something was seen of other nodes, be they over
}

// roll takes the roll of all nodes that are known, and of those that are named. Of what
// was seen that counts which its app did not give up, as far as that is known.
func (f *Fleet) roll(named ...string) *roll {
	return f.fill(&roll{}, named)
}

// rollFor is roll for an app that is placed so: nothing is on nodes that are away and that
// it gave up.
func (f *Fleet) rollFor(nodes, lost []string) *roll {
	r := &roll{own: true, lost: map[string]bool{}}
	for _, id := range lost {
		r.lost[id] = true
	}
	return f.fill(r, nodes)
}

func (f *Fleet) fill(r *roll, named []string) *roll {
	r.f, r.members = f, f.members()
	f.mu.Lock()
	r.gone = maps.Clone(f.gone)
	ids := map[string]bool{}
	for id, n := range f.nodes {
		if n.complete || len(n.seen) > 0 {
			ids[id], r.others = true, r.others || remote(id)
		}
	}
	f.mu.Unlock()
	for id := range r.members {
		ids[id] = true
	}
	for _, id := range named {
		ids[id] = true
	}
	ids[""] = true
	for id := range ids {
		if r.stands(id) != over {
			r.ids = append(r.ids, id)
		}
	}
	slices.Sort(r.ids)
	return r
}

// stands says how a node stands. One that nobody knows is away: who forgot it may have
// been wrong.
func (r *roll) stands(id string) standing {
	if id == "" {
		return online
	}
	m, known := r.members[id]
	switch {
	case known && m.Gone, !known && r.gone[id]:
		return over
	case known && m.Online:
		return online
	case r.lost[id]:
		return over
	}
	return away
}

// find is what counts of what was seen on a node, by an id or a name. The caller holds the
// lock.
func (r *roll) find(id, ref string) *sighting {
	s := r.f.nodes[id].find(ref)
	if s == nil || !r.counts(id, s) {
		return nil
	}
	return s
}

// counts reports whether what was seen on a node counts. The caller holds the lock.
func (r *roll) counts(id string, s *sighting) bool {
	return r.own || r.stands(id) != away || !r.f.placed.lost(id, s.state.Labels)
}

// those are the nodes that stand so, this machine first.
func (r *roll) those(want standing) []string {
	var out []string
	for _, id := range r.ids {
		if r.stands(id) == want {
			out = append(out, id)
		}
	}
	return out
}

// engine is a node's.
func (f *Fleet) engine(id string) (docker.Runtime, error) {
	if id == "" {
		return f.o.Local, nil
	}
	if f.o.Members == nil {
		return nil, unavailable(id, errors.New("it is not among the machines that joined"))
	}
	rt, err := f.o.Members.Engine(id)
	if err != nil {
		return nil, unavailable(id, err)
	}
	return rt, nil
}

// errSlow is why a node that took too long counts as away.
var errSlow = errors.New("it did not answer in time")

// answer is what one of several nodes said.
type answer[T any] struct {
	node  string
	value T
	err   error
}

// ask asks nodes side by side. Others than this machine have the fleet's patience for
// it, and are docker.ErrUnavailable after that. Errors name the node.
func ask[T any](ctx context.Context, f *Fleet, nodes []string, call func(ctx context.Context, id string, rt docker.Runtime) (T, error)) []answer[T] {
	out := make([]answer[T], len(nodes))
	one := func(i int) {
		id := nodes[i]
		out[i].node = id
		rt, err := f.engine(id)
		if err != nil {
			out[i].err = err
			return
		}
		if id == "" {
			out[i].value, out[i].err = call(ctx, id, rt)
			return
		}
		bounded, cancel := context.WithTimeoutCause(ctx, f.o.Patience, errSlow)
		defer cancel()
		out[i].value, err = call(bounded, id, rt)
		if err != nil && ctx.Err() == nil && errors.Is(context.Cause(bounded), errSlow) {
			err = unavailable(id, errSlow)
		} else {
			err = told(id, err)
		}
		out[i].err = err
	}
	if len(nodes) == 1 {
		one(0)
		return out
	}
	var wg sync.WaitGroup
	for i := range nodes {
		wg.Go(func() { one(i) })
	}
	wg.Wait()
	return out
}

// nothing is for answers that say no more than yes.
type nothing struct{}
