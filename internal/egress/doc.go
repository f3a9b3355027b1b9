// Package egress dials addresses that others named, without letting them reach what
// only this machine can reach.
//
// A [Dialer] judges the address that the kernel is about to connect to: no second
// look-up can put another in its place. The zero [Policy] lets public addresses through
// and nothing else. Link-local, multicast, unspecified, reserved and documentation
// addresses are never dialled, nor are those at which clouds tell machines their
// secrets. An IPv6 address that stands for an IPv4 one is judged by that one.
//
// Callbacks of backend/hosting and the user data of package instances go through it.
// What must never happen here: a connection before its address was judged.
package egress
