// Package nodes is the data plane's own end of the connections that the agents of nodes
// open: through it the proxy reaches targets on other machines, whether or not a control
// plane runs.
//
// internal/ingress/control hands it what the control plane pushes, internal/ingress/proxy
// dials through it, internal/ingress/process starts it and passes it on.
//
// # Passing it on
//
// An agent has one control connection to the data plane, and a connection that answers a
// dial comes by the same address. So when one process takes over from another, the agents
// have to move, all at once: the old one stops taking connections, the new one begins, on
// the same socket, and each agent is told to connect anew. What the old one has dialled
// stays its own until it ends. What it has to dial while it drains, the new one dials for
// it and carries the bytes (relay.go). For the moment in which an agent is with neither, a
// dial waits (dial.go).
//
// What must never happen here: a dial that leads anywhere but to an address of a container
// on the node, which the agent sees to and this package never works around; a private key
// in a log or an error; a connection that is cut because a certificate, an authority or an
// address changed.
package nodes
