package fleet

import (
	"context"
	"slices"
	"strconv"

	"github.com/berth-cloud/berth/internal/docker"
)

// view is the fleet as one engine: as an app that is placed sees it, or as a whole.
type view struct {
	f     *Fleet
	nodes []string // that the app is placed on, by replica; none for the view of all
	lost  []string // that were given up for the app
}

var (
	_ docker.Runtime            = (*view)(nil)
	_ docker.ExitStateInspector = (*view)(nil)
)

// placed are the nodes of the placement, each once.
func (v *view) placed() []string {
	out := slices.Clone(v.nodes)
	slices.Sort(out)
	return slices.Compact(out)
}

// alone reports whether there is nothing to look at but this machine.
func (v *view) alone(r *roll) bool {
	return len(r.ids) == 1 && !r.others && !slices.ContainsFunc(v.nodes, remote)
}

// take takes the roll, with the nodes of the placement.
func (v *view) take() *roll {
	if len(v.nodes) == 0 {
		return v.f.roll()
	}
	return v.f.rollFor(v.nodes, v.lost)
}

// roll takes the roll, with the nodes of the placement, and looks at those that nobody
// has looked at yet.
func (v *view) roll(ctx context.Context) *roll {
	r := v.take()
	if !v.alone(r) {
		v.f.look(ctx, r)
	}
	return r
}

// replicaOn is the node of a container's replica.
func replicaOn(nodes []string, labels map[string]string) (string, bool) {
	if len(nodes) == 0 {
		return "", false
	}
	replica, err := strconv.Atoi(labels[docker.LabelReplica])
	if err != nil || replica < 0 {
		replica = 0
	}
	return nodes[replica%len(nodes)], true
}

// home are the nodes on which the view's objects of those labels are made.
func (v *view) home(labels map[string]string) []string {
	if len(v.nodes) > 0 {
		return v.nodes
	}
	v.f.mu.Lock()
	defer v.f.mu.Unlock()
	if nodes := v.f.placed.nodes(labels); len(nodes) > 0 {
		return nodes
	}
	return []string{""}
}

// first is the node that stands for the view where only one can.
func (v *view) first() string {
	if len(v.nodes) > 0 {
		return v.nodes[0]
	}
	return ""
}

// Info implements docker.Runtime: the first node of the placement.
func (v *view) Info(ctx context.Context) (docker.EngineInfo, error) {
	id := v.first()
	rt, err := v.f.reach(v.f.roll(id), id)
	if err != nil {
		return docker.EngineInfo{}, err
	}
	info, err := rt.Info(ctx)
	return info, told(id, err)
}

// reach is the engine of a node that is online.
func (f *Fleet) reach(r *roll, id string) (docker.Runtime, error) {
	switch r.stands(id) {
	case away:
		return nil, unavailable(id, nil)
	case over:
		return nil, unavailable(id, errOver)
	case online:
	}
	return f.engine(id)
}
