package wire

import (
	"slices"
	"time"
)

// NodeState is how a node is.
type NodeState string

// The states.
const (
	NodeOnline     NodeState = "online"     // it is connected, and its engine answers
	NodeRecovering NodeState = "recovering" // it is back, and what runs on it is being looked at
	NodeOffline    NodeState = "offline"    // it is not connected; what runs on it goes on as far as is known
	NodeLost       NodeState = "lost"       // it is away for so long that its apps were started elsewhere
	NodeGone       NodeState = "gone"       // its provider says that there is no such machine
)

// NodeKind is where a node comes from.
type NodeKind string

// The kinds.
const (
	NodeLocal   NodeKind = "local"   // the machine of the control plane
	NodeMachine NodeKind = "machine" // created at a provider
	NodeJoined  NodeKind = "joined"  // a host that its operator had already
)

// LocalNode is the id of the machine that the control plane runs on.
const LocalNode = "local"

// Node is a machine that apps run on.
type Node struct {
	ID    string    `json:"id" doc:"Id; \"local\" is the machine of the control plane."`
	Name  string    `json:"name,omitempty" doc:"Name that a joined host was given."`
	Kind  NodeKind  `json:"kind" enum:"local,machine,joined"`
	Group string    `json:"group,omitempty" doc:"Group that its machine belongs to."`
	State NodeState `json:"state" enum:"online,offline,recovering,lost,gone"`
	// Why says what is behind the state, where there is something to say.
	Why      string    `json:"why,omitempty" doc:"What is behind the state."`
	Since    time.Time `json:"since,omitzero" doc:"Since when it is in that state."`
	Cordoned bool      `json:"cordoned,omitempty" doc:"Nothing new is placed on it."`
	// DrainingSince is when it was asked to be emptied; zero when nobody did.
	DrainingSince time.Time         `json:"draining_since,omitzero" doc:"When it was asked to be emptied."`
	DrainBy       time.Time         `json:"drain_by,omitzero" doc:"When it has to be empty."`
	Labels        map[string]string `json:"labels,omitempty" doc:"What app files ask for by node: {labels: …}."`
	Apps          []NodeApp         `json:"apps" nullable:"false" doc:"Apps that have containers on it or are placed on it, by name."`
	Containers    int               `json:"containers" doc:"Containers of apps on it."`
	Address       string            `json:"address,omitempty" doc:"Its own address, as its agent told it."`
	Version       string            `json:"version,omitempty" doc:"Version of its agent."`
}

// Draining reports whether it is being emptied.
func (n Node) Draining() bool { return !n.DrainingSince.IsZero() }

// Moving are the apps on the node that do not have to stay.
func (n Node) Moving() []NodeApp {
	return slices.DeleteFunc(slices.Clone(n.Apps), func(a NodeApp) bool { return a.Stays != "" })
}

// NodeApp is an app on a node.
type NodeApp struct {
	App        string `json:"app"`
	Containers int    `json:"containers" doc:"Its containers on the node."`
	// Stays says why the app cannot move to another node; empty: it can.
	Stays string `json:"stays,omitempty" doc:"Why it cannot move to another node; empty when it can."`
	// To is where it is moved, once that is decided.
	To string `json:"to,omitempty" doc:"Node that it is moved to, once that is decided."`
}

// NodeList is every node, this machine first.
type NodeList struct {
	Nodes []Node `json:"nodes" nullable:"false"`
}

// DrainRequest asks that a node be emptied.
type DrainRequest struct {
	DeadlineSeconds int64 `json:"deadline_seconds,omitempty" minimum:"0" maximum:"604800" doc:"Within how many seconds it is to be empty; 0: no bound."`
}

// DrainPlan is what comes of the apps on a node that is emptied.
type DrainPlan struct {
	Node  string    `json:"node"`
	By    time.Time `json:"by,omitzero" doc:"When it has to be empty; none: no bound."`
	Moves []NodeApp `json:"moves" nullable:"false" doc:"Apps that are moved to other nodes."`
	Stays []NodeApp `json:"stays" nullable:"false" doc:"Apps that stay, each with the reason."`
}

// The hops between the control plane and a container on a node, in their order.
const (
	HopRecord         = "record"          // the machine has a record that says it is wanted
	HopRegistration   = "registration"    // its agent has a certificate that holds
	HopControl        = "control"         // its agent is connected to the server
	HopEngine         = "engine"          // its engine answers through the agent
	HopIngressControl = "ingress-control" // its agent is connected to the data plane
)

// NodeCheck is what doctor found at one hop.
type NodeCheck struct {
	Hop     string     `json:"hop" doc:"record, registration, control, engine or ingress-control, in this order."`
	State   CheckState `json:"state" enum:"ok,warning,failed,skipped" doc:"skipped: not looked at, because a hop before it failed."`
	Message string     `json:"message" doc:"What was found."`
	At      time.Time  `json:"at,omitzero" doc:"When that was so: the last heartbeat, the end of a certificate, or the moment of the check."`
	Took    string     `json:"took,omitempty" doc:"How long it took to find out."`
	Fix     string     `json:"fix,omitempty" doc:"What to do about it."`
}

// NodeDoctor is what doctor found about one node.
type NodeDoctor struct {
	Node   string      `json:"node"`
	Checks []NodeCheck `json:"checks" nullable:"false"`
}

// Failing is the first hop that failed; nil when none did.
func (d NodeDoctor) Failing() *NodeCheck {
	i := slices.IndexFunc(d.Checks, func(c NodeCheck) bool { return c.State == CheckFailed })
	if i < 0 {
		return nil
	}
	return &d.Checks[i]
}

// JoinRequest asks for a token by which a host that is there already joins.
type JoinRequest struct {
	Name   string            `json:"name" minLength:"1" maxLength:"48" doc:"Name of the node: lower-case letters, digits and dashes, a letter first."`
	Labels map[string]string `json:"labels,omitempty" maxProperties:"10" doc:"What app files may ask for."`
}

// JoinToken lets one host join, once. Whoever has it can be that host.
type JoinToken struct {
	ID        string    `json:"id" doc:"Id that the node has from now on."`
	Name      string    `json:"name"`
	Token     string    `json:"token" doc:"Argument of berth-node join. It is not shown again."`
	ExpiresAt time.Time `json:"expires_at" doc:"Until when a host can join by it."`
}
