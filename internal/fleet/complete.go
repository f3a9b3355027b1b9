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
	return (!n.complete || !n.session.Equal(session)) && !now.Before(n.retry)
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
	list, err := rt.List(ctx, f.ours())
	var volumes []docker.Volume
	if err == nil {
		volumes, err = rt.ListVolumes(ctx, f.ours())
	}
	if err != nil {
		f.o.Logger.DebugContext(ctx, "list a node", "node", id, "error", err)
		f.mu.Lock()
		n.retry = f.o.Now().Add(restAfterFailure)
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

// keeper is which of the nodes that have a container of one name keeps it: the one where
// it is placed, else the first.
func (f *Fleet) keeper(nodes []string, labels map[string]string) string {
	if len(nodes) > 1 {
		f.mu.Lock()
		placed := f.placed[labels[docker.LabelApp]]
		f.mu.Unlock()
		if at, ok := replicaOn(placed, labels); ok && slices.Contains(nodes, at) {
			return at
		}
	}
	return slices.Min(nodes)
}
