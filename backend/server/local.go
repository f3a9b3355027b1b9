package server

import (
	"net"
	"net/http"

	"github.com/berth-cloud/berth/backend"
)

// LocalHandler is New without signatures, for who operates a backend on its machine:
// the reads of the protocol alone, and those alone that come over a Unix socket. It
// finds that out by itself, by the address that net/http has of each request's
// connection, so that it tells nothing where it is served on a port by mistake.
//
// Who may connect to the socket is for the mode of its file, and for whatever stands
// before. Of cfg the fields Auth, Unsigned and Metrics are not looked at.
func LocalHandler(b backend.Backend, cfg Config) http.Handler {
	s := &server{backend: b, cfg: cfg.withDefaults()}
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		if r.method == http.MethodGet {
			mux.Handle(r.path, s.observed(r.name, only(r.method, s.serve(r))))
		}
	}
	mux.Handle("/", s.observed("none", http.HandlerFunc(notFound)))
	return local(strict(mux))
}

// local lets requests through that came over a Unix socket.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); !ok || addr.Network() != "unix" {
			writeError(w, http.StatusForbidden, "this is answered over the Unix socket of the machine alone")
			return
		}
		next.ServeHTTP(w, r)
	})
}
