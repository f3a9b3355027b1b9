// Package nodetest is the conformance suite of node.Host, and the network that it is held
// on: a host with bridges of two leases and of an app, a neighbour on its LAN and one on
// the Internet, each a network namespace of its own.
//
// Tests of each implementation call [Run]. It needs root, and Debian's iproute2; without
// them it skips and says so. Every dial is made without rules first, where all must
// arrive, so that what is refused with them is refused by them.
//
// What must never happen here: a change to the network namespace that the test was
// started in.
package nodetest
