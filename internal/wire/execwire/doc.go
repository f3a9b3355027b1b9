// Package execwire is the protocol of `berth exec`: how a command in a container
// talks to whoever started it, over one WebSocket.
//
// Every message of the WebSocket is binary and one frame: a byte that says the
// [Kind], then the payload. The caller begins with [Start]. From then on it
// sends [Stdin] and, once there is no more, [StdinEnd], and [Resize] for a
// terminal; the daemon sends [Stdout] and [Stderr], and last of all [Exit], after
// which it closes. Whoever closes before that gives the command up: its streams
// end, and what a program does then is its own affair.
//
//	caller                               daemon
//	Start {command, tty, stdin, size} →
//	Stdin …                           →
//	StdinEnd                          →
//	                                  ←  Stdout …, Stderr …
//	Credit 32768                      →  (so many bytes of output were taken)
//	                                  ←  Credit 32768 (so many of the input)
//	                                  ←  Exit {code} or Exit {problem}
//
// Nobody sends more data than the other side has room for: each side begins with
// an allowance of [Window] bytes and gets back, by [Credit], what was taken from
// the buffer. So both always read, a ping is always answered, and a slow reader
// holds the program as a pipe would, for as long as it likes. More than the
// allowance is a fault, and ends the session.
//
// internal/api speaks it on one side, internal/client on the other.
//
// What must never happen here: an import of anything but the standard library
// and internal/wire, a buffer without a bound.
package execwire
