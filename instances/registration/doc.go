// Package registration is where machines come to for their certificates: over HTTPS,
// with a token the first time, with the certificate that they have from then on.
//
// [Handler] answers POST /v1/register and POST /v1/renew as package wire describes;
// [NewServer] puts it behind TLS 1.3, with deadlines. A [Registrar], which is the
// [github.com/berth-cloud/berth/instances.Manager], decides.
//
// A token alone buys nothing: its bearer shows that it has the key to be certified by a
// signature that holds for this token in this TLS session.
//
// A certificate that has ended renews for some days more, when the record of its instance
// says that it is to be there and has this key: so machines come back after a control plane
// that was away for longer than certificates live.
//
// Whoever can reach the address may ask, so bodies, headers, times, requests at once and
// requests of one address are bounded, and nothing is said about other instances. What
// must never happen here: a certificate for a key that was not proven; a token, or what
// a failure was made of, in an answer or a log.
package registration
