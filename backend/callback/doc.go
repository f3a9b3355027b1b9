// Package callback is the holder's end of a callback: a [Receiver] takes what
// backends send, and a [Stream] tells those who watch a lease.
//
//	receiver := callback.NewReceiver(callback.Config{Auth: verifier, Deliver: ledger.Settle})
//	mux.Handle("/callbacks/provision", receiver)
//
// Whoever holds the ledger of leases calls it; backends never do.
//
// A callback comes at least once: a sender that has no answer sends it again. One
// that comes again with the very same signature, within the time in which that is
// good, gets the answer of the first and is not delivered again; one that is signed
// anew is, so that Deliver must bear it.
//
// The protocol has no nonce. Two callbacks of a lease that say the same, signed in
// the same second, are one to a Receiver, and the second is answered and lost. A
// sender therefore signs each callback of a lease with a later second than the one
// before; as hmacauth.MaxSkew allows, it need not wait for that second.
//
// # Answers
//
//	200  delivered, or delivered before
//	400  not a callback
//	401  not signed, or not well; 413 larger than MaxBodyBytes
//	405  not a POST
//	500  Deliver failed: the sender is to send it again
//	503  nobody to deliver to, or too many at once: likewise
//
// What must never happen here: a delivery of what is not signed, an entry in the
// memory for it, an answer 200 before Deliver has returned, a subscriber whose
// slowness holds up another.
package callback
