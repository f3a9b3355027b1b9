package nodes

import (
	"slices"
	"strings"

	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

// Report is what is known of nodes now; nil before there was a cluster.
func (n *Nodes) Report() *table.ClusterReport {
	n.mu.Lock()
	told, version, l, failed := n.told, n.cluster.Version, n.listener, n.failed
	n.mu.Unlock()
	if !told {
		return nil
	}
	r := &table.ClusterReport{Version: version}
	if l != nil {
		r.Address = l.Addr().String()
	}
	if failed != nil {
		r.Error = failed.Error()
	}
	r.Nodes, r.More = bounded(n.hub.Nodes())
	return r
}

// bounded are the first nodes by id, and how many more there are.
func bounded(all []hub.Node) (out []table.NodeReport, more int) {
	slices.SortFunc(all, func(a, b hub.Node) int { return strings.Compare(a.InstanceID, b.InstanceID) })
	if more = max(len(all)-table.MaxReportedNodes, 0); more > 0 {
		all = all[:table.MaxReportedNodes]
	}
	out = make([]table.NodeReport, 0, len(all))
	for i := range all {
		out = append(out, table.NodeReport{ID: all[i].InstanceID, Remote: all[i].Remote, Since: all[i].Connected.UTC()})
	}
	return out, more
}
