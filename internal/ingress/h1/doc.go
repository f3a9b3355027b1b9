// Package h1 serves HTTP/1.x with one goroutine per connection and none per
// request.
//
// internal/ingress/proxy is its only caller. net/http's server starts a
// goroutine for every request, to notice a client that leaves; with requests
// that take less than a millisecond that costs more than all parsing. Here the
// handler asks for that watch ([Response.Watch]) once a request turns out slow.
// Requests are parsed by net/http, and an [http.Handler] cannot tell the
// difference, but for this: a response gets no header that the handler did not
// set other than Date and framing, no content type is guessed, and the request's
// context is [Response.Context].
//
// What must never happen here: bytes of one request taken for another's, a wait
// without a deadline, or a line break from a header value on the wire.
package h1
