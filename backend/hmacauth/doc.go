// Package hmacauth signs the requests between the holder of leases and a backend,
// in both directions, and verifies them. The holder's client and the backend's
// callbacks sign; the backend's server and the holder's receiver verify.
//
// A request carries
//
//	X-Fred-Signature: t=<Unix seconds>,sha256=<hex>
//
// where the hex is the HMAC-SHA256, by the shared secret, of four lines without an
// end of line after the last:
//
//	<Unix seconds>
//	<METHOD>
//	<path>[?<query>] as they are on the request line
//	<lower-case hex of the SHA-256 of the body>
//
// The method and the path are part of it, so that a signature is good for one
// endpoint alone, and the body is there as its hash, so that it may have any bytes.
// A signature is good from [MaxSkew] before its time to [MaxAge] after it. Within
// that the same request may come again: whatever is signed must bear being asked
// twice.
//
// A [Verifier] may know two secrets. To change a secret, give the new one to those
// who verify, then to those who sign, and then take the old one away.
//
// What must never happen here: a secret in an error or a log, an answer that tells
// a stranger why his signature is no good, a body that is read without a bound.
package hmacauth
