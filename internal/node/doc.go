// Package node is what a host does that its engine cannot.
//
// [Host] is the contract. Its first part is the firewall that keeps leases apart from
// each other, from their host and from what the host alone shall reach; [Local] does it
// on this machine, by netlink, without a program. The backend's daemon calls it before
// a lease's first container starts and again and again after that. The conformance
// suite is nodetest.
//
// # The firewall
//
// One table of nftables, inet berth-<name>, is all that is ever written. It has a base
// chain where packets come in for the host and one where they go through it, both before
// the engine's own, and both accept what is none of theirs. What comes from a lease, by
// the name of the bridge or by an address of the pool, goes by these rules, of which the
// first that fits decides:
//
//	within one network        goes
//	a source that is not at home on that bridge   is dropped
//	an answer to somebody     goes
//	a resolver's port 53      goes
//	link-local, metadata, loopback, multicast     is refused
//	an address of the host    is refused, but for the data plane's ports
//	a network of the engine, the pool   is refused
//	a prefix that is allowed  goes
//	a private range           is refused
//	everything else           goes
//
// Every packet that a lease sends on a connection of its own is judged by where it goes,
// also when the connection stands: rules that were away for a while leave nothing open.
// What goes to a lease must be an answer, or have come by a published port.
//
// What must never happen here: a change to a table of somebody else, a moment without
// rules while they are replaced, a packet judged by what a container can write into it
// alone.
package node
