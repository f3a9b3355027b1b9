package dockertest

import (
	"context"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// Inspect implements docker.Runtime.
func (e *Engine) Inspect(ctx context.Context, ref string) (s *docker.ContainerState, err error) {
	err = e.call(ctx, CallInspect, ref, func(f *fault) error {
		full, err := e.inspect(ref, f)
		s = full
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ExitState implements docker.ExitStateInspector.
func (e *Engine) ExitState(ctx context.Context, ref string) (x *docker.ExitState, err error) {
	err = e.call(ctx, CallInspect, ref, func(f *fault) error {
		full, err := e.inspect(ref, f)
		if err == nil {
			x = &full.Exit
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

func (e *Engine) inspect(ref string, f *fault) (*docker.ContainerState, error) {
	if f.lies() {
		return e.lieInspect(ref, f)
	}
	c, err := e.find(ref)
	if err != nil {
		return nil, err
	}
	full := c.full()
	return &full, nil
}

// List implements docker.Runtime. The newest container comes first.
func (e *Engine) List(ctx context.Context, labels map[string]string) (out []docker.ContainerState, err error) {
	err = e.call(ctx, CallList, "", func(f *fault) error {
		found := e.labels.match(labels, e.byID)
		out = make([]docker.ContainerState, 0, len(found))
		for _, c := range found {
			out = append(out, e.listed(c.state()))
		}
		if f.lies() {
			out = e.lieList(out, labels, f)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// listed gives a state what a list loses of it.
func (e *Engine) listed(s docker.ContainerState) docker.ContainerState {
	s.Created = s.Created.Truncate(time.Second)
	if im := e.refs[normaliseRef(s.Image)]; im == nil || im.ID != s.ImageID {
		s.Image = s.ImageID
	}
	return s
}

// Containers is the full state of every container in the order of creation,
// outside the call log and the fault script: the truth, for assertions.
func (e *Engine) Containers() []docker.ContainerState {
	e.clock.lock()
	defer e.clock.unlock()
	var out []docker.ContainerState
	for _, c := range e.sorted() {
		out = append(out, c.full())
	}
	return out
}

// labelIndex finds containers by label. The empty value holds all that carry
// the label, whatever its value; containers whose value is empty are there too.
type labelIndex map[string]map[string]map[*container]struct{}

func (x labelIndex) add(c *container) {
	for k, v := range c.spec.Labels {
		x.put(k, v, c)
		x.put(k, "", c)
	}
}

func (x labelIndex) put(key, value string, c *container) {
	if x[key] == nil {
		x[key] = map[string]map[*container]struct{}{}
	}
	if x[key][value] == nil {
		x[key][value] = map[*container]struct{}{}
	}
	x[key][value][c] = struct{}{}
}

func (x labelIndex) remove(c *container) {
	for k, v := range c.spec.Labels {
		for _, value := range []string{v, ""} {
			delete(x[k][value], c)
			if len(x[k][value]) == 0 {
				delete(x[k], value)
			}
		}
	}
}

// match returns the containers that carry all the labels, newest first.
func (x labelIndex) match(labels map[string]string, all map[string]*container) []*container {
	var out []*container
	if len(labels) == 0 {
		out = make([]*container, 0, len(all))
		for _, c := range all {
			out = append(out, c)
		}
	} else {
		var smallest map[*container]struct{}
		first := true
		for k, v := range labels {
			if set := x[k][v]; first || len(set) < len(smallest) {
				smallest, first = set, false
			}
		}
		for c := range smallest {
			if carries(c.spec.Labels, labels) {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b *container) int { return int(int64(b.seq) - int64(a.seq)) })
	return out
}

// carries reports whether have holds every wanted label; "" wants any value.
func carries(have, want map[string]string) bool {
	for k, v := range want {
		got, ok := have[k]
		if !ok || (v != "" && got != v) {
			return false
		}
	}
	return true
}
