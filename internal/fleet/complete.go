package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// restAfterFailure is how long a node that could not be listed is left alone.
const restAfterFailure = 15 * time.Second

// ours are the labels of all that is this Berth's.
func (f *Fleet) ours() map[string]string {
	if f.o.Instance == "" {
		return nil
	}
	return map[string]string{docker.LabelInstance: f.o.Instance}
}

// look lists everything that is ours once on every node that was not listed since it
// connected, so that it is known from then on what is where.
func (f *Fleet) look(ctx context.Context, r *roll) {
	var due []string
	f.mu.Lock()
	for _, id := range r.those(online) {
		if n := f.node(id); n.due(r.members[id].Since, f.o.Now()) {
			due = append(due, id)
		}
	}
	f.mu.Unlock()
	if len(due) == 0 {
		return
	}
	ask(ctx, f, due, func(ctx context.Context, id string, rt docker.Runtime) (nothing, error) {
		return nothing{}, f.survey(ctx, id, rt, r.members[id].Since, false)
	})
}

func (n *node) due(session, now time.Time) bool {
	return (!n.complete || !n.session.Equal(session)) && !n.rests(session, now)
}

// rests reports whether the node is left alone for a while, as it did not answer.
func (n *node) rests(session, now time.Time) bool {
	return n.failed.Equal(session) && now.Before(n.retry)
}

// survey lists what is ours on a node. Of several at a time the later ones wait, and do
// nothing unless they are told to look in any case.
func (f *Fleet) survey(ctx context.Context, id string, rt docker.Runtime, session time.Time, always bool) error {
	f.mu.Lock()
	n := f.node(id)
	f.mu.Unlock()
	select {
	case n.listing <- struct{}{}:
		defer func() { <-n.listing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	f.mu.Lock()
	due := n.due(session, f.o.Now())
	f.mu.Unlock()
	if !due && !always {
		return nil
	}
	began := f.moment()
	list, err := f.listAll(ctx, n, rt)
	var volumes []docker.Volume
	if err == nil {
		volumes, err = rt.ListVolumes(ctx, f.ours())
	}
	if err != nil {
		f.o.Logger.DebugContext(ctx, "list a node", "node", id, "error", err)
		f.mu.Lock()
		n.failed, n.retry = session, f.o.Now().Add(restAfterFailure)
		f.mu.Unlock()
		return err
	}
	f.learnList(id, f.ours(), list, began)
	f.learnVolumes(id, f.ours(), volumes)
	f.mu.Lock()
	n.complete, n.session, n.retry = true, session, time.Time{}
	f.mu.Unlock()
	return nil
}

// listAll lists what is ours on a node; the first time twice, as from then on what is not
// known is taken for not being there, and one answer may be short.
func (f *Fleet) listAll(ctx context.Context, n *node, rt docker.Runtime) ([]docker.ContainerState, error) {
	list, err := rt.List(ctx, f.ours())
	f.mu.Lock()
	known := n.complete
	f.mu.Unlock()
	if err != nil || known {
		return list, err
	}
	again, err := rt.List(ctx, f.ours())
	for i := range again {
		if !slices.ContainsFunc(list, func(s docker.ContainerState) bool { return s.ID == again[i].ID }) {
			list = append(list, again[i])
		}
	}
	return list, err
}

// keeper is which of the nodes that have a container of one name keeps it: the one where
// it is placed, else the first.
func (f *Fleet) keeper(nodes []string, labels map[string]string) string {
	if len(nodes) > 1 {
		f.mu.Lock()
		placed := f.placed.nodes(labels)
		f.mu.Unlock()
		if at, ok := replicaOn(placed, labels); ok && slices.Contains(nodes, at) {
			return at
		}
	}
	return slices.Min(nodes)
}
