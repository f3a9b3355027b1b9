// Package ca is the authority of a cluster of machines: it signs who an agent, a
// server, an ingress or an operator is, and says which signatures count.
//
// [Open] makes it at the first call, or reads it. Its certificates are one object,
// BundleKey, that is only ever written by a condition; each private key is a secret
// under a name of its own, kept before the certificate is. So of any number of
// processes that begin at once one makes the authority, and one that dies half way
// leaves a key that nobody certified, and no more.
//
// A new authority takes over by overlap: [Authority.Rotate] makes it known to
// everybody, [Authority.Advance] lets it sign when everybody must have heard of it,
// and drops the old one when all that it signed has ended. What applications trust
// inside the data plane is another authority.
//
// Package instances and the daemon's wiring use it. What must never happen here: a
// second authority in place of one that could not be read, a private key outside
// of the secrets, a certificate without a role, one that outlives its authority.
package ca
