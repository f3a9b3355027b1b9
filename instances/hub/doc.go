// Package hub is the control plane's end of the connections that machines open: it takes
// them, tells who is there, and dials through them.
//
// The server has one for all machines, the data plane's process another with a certificate
// of its own and fewer rights, which agents enforce. What drives a machine uses
// [Hub.Dialer]: a client of a container engine, or of node.Host, is the local one with
// another dialer.
//
// # Who is there
//
// A machine has one control connection. When a second one says hello with a certificate of
// the same instance, there are two cases that look alike: the machine came back while its
// old connection is not known to be dead, or it was copied, key and all. So the hub asks
// the connection that stands for a heartbeat. When one comes, the newcomer is a copy: it is
// refused and told so, an [EventCloned] says what both are, and the one that was there
// first stays, with whatever runs on it. When none comes in time, the newcomer takes its
// place. A process that renewed its certificate shows the token of its last welcome, and
// takes over from itself without a question.
//
// # Bounds
//
// An agent may be hostile, the machine is a tenant's. Handshakes are few at once and from
// one address, a hello has a deadline, a frame has one and a size, frames a rate, what is
// kept of an agent a few kilobytes. An answer to a dial that nobody asked this instance
// for is closed. What an agent sends on a dial goes to whoever dialled, at the pace at
// which it is read.
//
// What must never happen here: a machine that is believed to be another one; a dial that
// waits without a deadline; a heartbeat that waits for bulk.
package hub
