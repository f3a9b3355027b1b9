package group

import "github.com/berth-cloud/berth/instances/hub"

// Nodes are machines that are connected; *hub.Hub knows them.
type Nodes interface {
	Node(instanceID string) (hub.Node, bool)
}

var _ Nodes = (*hub.Hub)(nil)

type hubPresence struct{ nodes Nodes }

// FromHub is a Presence by the control connections of a hub.
func FromHub(nodes Nodes) Presence { return hubPresence{nodes} }

// Sign implements Presence.
func (p hubPresence) Sign(instanceID string) (Sign, bool) {
	n, ok := p.nodes.Node(instanceID)
	if !ok {
		return Sign{}, false
	}
	s := Sign{HeardAt: n.Heartbeat}
	if n.Notice != nil {
		s.Noticed, s.NoticeAt = true, n.Notice.At
	}
	return s, true
}
