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
	all := n.hub.Nodes()
	slices.SortFunc(all, func(a, b hub.Node) int { return strings.Compare(a.InstanceID, b.InstanceID) })
	if more := len(all) - table.MaxReportedNodes; more > 0 {
		r.More, all = more, all[:table.MaxReportedNodes]
	}
	r.Nodes = make([]table.NodeReport, 0, len(all))
	for i := range all {
		r.Nodes = append(r.Nodes, table.NodeReport{ID: all[i].InstanceID, Remote: all[i].Remote, Since: all[i].Connected.UTC()})
	}
	return r
}
