// Package egress dials URLs that tenants and holders of leases gave, without letting
// them reach what only this machine can reach.
//
// Hosting asks [Policy.ParseTarget] when a callback's URL is handed over, and sends
// with a [Client]. A name is judged by the addresses it resolves to, on every
// connection anew, and by the address that the kernel is about to connect to: no
// second look-up can put another in its place.
//
// The zero [Policy] lets public addresses through and nothing else. Loopback and
// private ones are for an operator to allow. Link-local, multicast, unspecified,
// reserved and documentation addresses are never dialled, nor are those at which
// clouds tell machines their secrets, wherever they lie. An IPv6 address that stands
// for an IPv4 one (mapped, compatible, NAT64, 6to4, ISATAP) is judged by that one.
//
// What must never happen here: a connection before its address was judged, a proxy or
// a setting out of the environment, a redirect that is followed, the text of a URL in
// an error of this package (it may have a token in it).
//
// What it cannot know: that a public address is one of this machine's own, or is
// forwarded to the inside.
package egress
