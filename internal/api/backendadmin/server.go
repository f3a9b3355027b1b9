package backendadmin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/berth-cloud/berth/backend/server"
	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/wire"
)

const (
	requestTimeout = 25 * time.Second
	maxBody        = 4 << 10
)

// admin answers requests.
type admin struct{ deps Deps }

// route is one thing that may be asked, and by whom.
type route struct {
	pattern string
	rule    api.Rule
	handle  func(*http.Request) (any, error)
	// serve takes the place of handle where the answer is another's.
	serve http.Handler
}

// New makes the handler. Its requests need the peer that api.ConnContext puts into
// their context. A route that does not say who may call it is api.ErrNoRule.
func New(deps Deps) (http.Handler, error) {
	if err := deps.check(); err != nil {
		return nil, err
	}
	a := &admin{deps}
	return a.build(a.routes())
}

func (a *admin) routes() []route {
	return []route{
		{pattern: "GET /admin/status", rule: api.RuleAdmin, handle: a.status},
		{pattern: "GET /admin/leases", rule: api.RuleAdmin, handle: a.leases},
		{pattern: "GET /admin/leases/{lease}", rule: api.RuleAdmin, handle: a.lease},
		{pattern: "GET /admin/retentions", rule: api.RuleAdmin, handle: a.retentions},
		{pattern: "GET /admin/drain", rule: api.RuleAdmin, handle: a.drain},
		{pattern: "POST /admin/drain", rule: api.RuleAdmin, handle: a.setDrain},
		{pattern: "/admin/", rule: api.RuleAdmin, handle: func(r *http.Request) (any, error) {
			return nil, notFound(fmt.Sprintf("there is nothing to %s at %s", r.Method, r.URL.Path), "Are berth and berthd of the same version?")
		}},
		{pattern: "/", rule: api.RuleAdmin, serve: server.LocalHandler(a.deps.Backend, server.Config{
			Timeout: requestTimeout, Notes: a.deps.Notes, Logger: a.deps.Logger,
		})},
	}
}

func (a *admin) build(routes []route) (http.Handler, error) {
	mux := http.NewServeMux()
	for _, r := range routes {
		if r.rule != api.RuleAdmin { // there is no other here
			return nil, fmt.Errorf("%w: %s", api.ErrNoRule, r.pattern)
		}
		h := r.serve
		if h == nil {
			h = a.answer(r.handle)
		}
		mux.Handle(r.pattern, a.guard(h))
	}
	return mux, nil
}

// guard lets root in, and the user that runs the daemon.
func (a *admin) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, known := api.PeerFrom(r.Context())
		switch {
		case !known:
			writeProblem(w, forbidden("nothing is known about who is calling"))
		case peer.UID != 0 && peer.UID != a.deps.AdminUID:
			writeProblem(w, forbidden(fmt.Sprintf("user %d does not operate this backend", peer.UID)))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// answer says what a handler returned.
func (a *admin) answer(handle func(*http.Request) (any, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		out, err := handle(r.WithContext(ctx))
		var body []byte
		if err == nil {
			body, err = json.Marshal(out)
		}
		if err != nil {
			var p *wire.Problem
			if !errors.As(err, &p) {
				a.deps.Logger.ErrorContext(ctx, "a request of the operator failed", "path", r.URL.Path, "error", err)
				p = internalError(err)
			}
			writeProblem(w, p)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(body, '\n')) // whoever asked has gone when it fails
	})
}
