package fleet

import (
	"maps"
	"slices"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
)

// placements are those that views were taken of, as they were last told: for who speaks
// of containers and not of an app. The fleet's lock guards them.
type placements struct {
	of   map[string]store.Placement // by app
	room int                        // how many are kept before the needless ones go
}

// leastRoom is how many are kept in any case.
const leastRoom = 64

func newPlacements() placements {
	return placements{of: map[string]store.Placement{}, room: leastRoom}
}

// put keeps a placement. When there are many, those of apps of which no node is known to
// have anything are dropped: they decide nothing, and the next view brings them again.
func (p *placements) put(one store.Placement, nodes map[string]*node) {
	if _, known := p.of[one.AppID]; !known && len(p.of) >= p.room {
		seen := map[string]bool{}
		for _, n := range nodes {
			for _, s := range n.seen {
				seen[s.state.Labels[docker.LabelApp]] = true
			}
		}
		maps.DeleteFunc(p.of, func(app string, _ store.Placement) bool { return !seen[app] })
		p.room = max(leastRoom, 2*len(p.of))
	}
	p.of[one.AppID] = one
}

// nodes are those that the app of a container is placed on, none when that is not known.
func (p *placements) nodes(labels map[string]string) []string {
	return p.of[labels[docker.LabelApp]].Nodes
}

// lost reports whether the app of a container gave up a node.
func (p *placements) lost(id string, labels map[string]string) bool {
	return slices.Contains(p.of[labels[docker.LabelApp]].Lost, id)
}
