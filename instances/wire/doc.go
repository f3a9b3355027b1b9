// Package wire is what a machine's agent and the control plane say to each other: the
// frames and messages of a control connection, the requests of registration, and who a
// certificate is.
//
// A machine dials out and nobody dials it. Its agent keeps one control connection to each
// of at most two ends: the server, and the data plane's process. On it both send frames, a
// length of four bytes and one JSON message:
//
//	agent                        server
//	hello            ->
//	                 <-          welcome, or refused and the end
//	heartbeat        ->          as often as the welcome says, or every ten seconds
//	                 <-          ack
//	                 <-          dial
//	dialed           ->          only when it cannot be done
//	notice           ->          the machine is about to be taken away
//	                 <-          ping: a heartbeat at once, please
//	                 <-          bye: another connection has taken over
//
// A dial that can be done is answered by one more connection, from the agent to the end
// that asked. Its first frame, an [Opened], names the dial; all that follows are the bytes
// of the connection that was asked for. Either way ends by itself, with a close_notify; a
// TCP stream that ends without one is an error, [ErrCut], and never passes for an end.
//
// All connections are TLS 1.3 with certificates of the cluster on both sides, and the
// certificate's role, not its name, says what its holder may ask for. Which version of
// this protocol is spoken is settled by ALPN. A field that is not known is passed over, so
// that a newer side may say more; a message that is not known ends the connection.
//
// Packages agent, hub and registration import this one. What must never happen here: a
// frame that is read without a bound, a certificate that is believed without its role.
package wire
