package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/berth-cloud/berth/backend"
)

// server has a backend and how it is offered.
type server struct {
	backend backend.Backend
	cfg     Config
	sick    atomic.Pointer[string] // what was last wrong, "" for nothing
}

// New offers a backend. The handler takes the paths of the protocol at its root.
func New(b backend.Backend, cfg Config) http.Handler {
	s := &server{backend: b, cfg: cfg.withDefaults()}
	auth := s.cfg.Auth
	switch {
	case auth == nil && cfg.Unsigned:
		auth = letAll{}
	case auth == nil:
		auth = refuseAll{}
	}
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		var h http.Handler = s.serve(r)
		if !r.open {
			h = auth.Middleware(s.cfg.MaxBodyBytes, h)
		}
		mux.Handle(r.path, s.observed(r.name, only(r.method, h)))
	}
	if s.cfg.Metrics != nil {
		mux.Handle("/metrics", s.observed("metrics", only(http.MethodGet, s.cfg.Metrics)))
	}
	mux.Handle("/", s.observed("none", http.HandlerFunc(notFound)))
	return strict(mux)
}

// serve asks the backend once and says what it answered.
func (s *server) serve(r route) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithTimeout(req.Context(), s.cfg.Timeout)
		defer cancel()
		if req.Body != http.NoBody {
			// Whatever stood before has read the body, but not where nobody did.
			req.Body = http.MaxBytesReader(w, req.Body, s.cfg.MaxBodyBytes)
		}
		a, err := r.handle(req.WithContext(ctx))
		var refused *requestError
		switch {
		case errors.As(err, &refused):
			a = refused.answer()
		case err != nil:
			var known bool
			if a, known = refuse(err, r.may); !known {
				s.cfg.Logger.ErrorContext(ctx, "a request failed", "operation", r.name, "path", clean(req.URL.Path), "error", err)
			}
		}
		if err := a.write(w); err != nil {
			s.cfg.Logger.ErrorContext(ctx, "an answer cannot be encoded", "operation", r.name, "error", err)
		}
	}
}

// observed counts a request and keeps a panic from ending the connection without
// an answer.
func (s *server) observed(name string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		began, rec := s.cfg.Clock(), &recorder{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil {
				if p == http.ErrAbortHandler { //nolint:errorlint // the value that net/http knows
					panic(p)
				}
				s.cfg.Logger.ErrorContext(req.Context(), "a request panicked", "operation", name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				if rec.code == 0 {
					writeError(rec, http.StatusInternalServerError, textInternal)
				}
			}
			s.count(name, rec.status(), s.cfg.Clock().Sub(began))
		}()
		next.ServeHTTP(rec, req)
	})
}

// only answers other methods with 405. What answers GET also answers HEAD;
// net/http leaves the body out.
func only(method string, next http.Handler) http.Handler {
	allow := method
	if method == http.MethodGet {
		allow = "GET, HEAD"
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != method && !(method == http.MethodGet && req.Method == http.MethodHead) {
			w.Header().Set("Allow", allow)
			writeError(w, http.StatusMethodNotAllowed, "method not allowed")
			return
		}
		next.ServeHTTP(w, req)
	})
}

// strict answers paths that are not in their shortest form as ones that are not
// there. The mux would redirect them, and a redirected POST loses its body.
func strict(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if p := req.URL.Path; !strings.HasPrefix(p, "/") || path.Clean(p) != p {
			notFound(w, req)
			return
		}
		next.ServeHTTP(w, req)
	})
}

func notFound(w http.ResponseWriter, _ *http.Request) {
	writeError(w, http.StatusNotFound, "no such path")
}
