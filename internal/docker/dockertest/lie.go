package dockertest

import (
	"fmt"

	"github.com/berth-cloud/berth/internal/docker"
)

// staleView is the container that changed last, as it was before.
type staleView struct {
	id      string
	existed bool
	before  docker.ContainerState
}

// noteStale is called just before a container changes.
func (e *Engine) noteStale(c *container, existed bool) {
	e.stale = staleView{id: c.id, existed: existed, before: c.full()}
}

func (e *Engine) lieInspect(ref string, f *fault) (*docker.ContainerState, error) {
	notFound := fmt.Errorf("container %q: %w", ref, docker.ErrNotFound)
	if f.Lie == LieOmit {
		return nil, notFound
	}
	if v := e.stale; f.Lie == LieStale && (ref == v.id || ref == v.before.Name) {
		if !v.existed {
			return nil, notFound
		}
		return &v.before, nil
	}
	c, err := e.find(ref)
	if err != nil {
		return nil, err
	}
	s := c.full()
	if f.Lie == LieRunning {
		s.Status = docker.StatusRunning
	}
	return &s, nil
}

func (e *Engine) lieList(truth []docker.ContainerState, labels map[string]string, f *fault) []docker.ContainerState {
	switch f.Lie {
	case LieOmit:
		if len(truth) > 0 {
			return truth[1:]
		}
	case LieRunning:
		for i := range truth {
			truth[i].Status = docker.StatusRunning
		}
	case LieStale:
		return e.undo(truth, labels)
	}
	return truth
}

// undo takes the last change out of a list.
func (e *Engine) undo(truth []docker.ContainerState, labels map[string]string) []docker.ContainerState {
	v := &e.stale
	old := e.listed(v.before)
	old.Full, old.Exit, old.RestartCount, old.Restart = false, docker.ExitState{}, 0, ""
	old.Started, old.Ports, old.Resources = old.Exit.StartedAt, nil, docker.Resources{}
	for i, s := range truth {
		if s.ID != v.id {
			continue
		}
		if !v.existed {
			return append(truth[:i], truth[i+1:]...)
		}
		truth[i] = old
		return truth
	}
	if v.existed && carries(old.Labels, labels) {
		return append(truth, old)
	}
	return truth
}
