package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// Rule says who may call a route. The zero value is no rule, and a route
// without one stops the daemon before it listens.
type Rule int

// The rules.
const (
	ruleNone Rule = iota
	// RuleAdmin lets root and the daemon's own user in, known by the peer
	// credentials of the Unix socket.
	RuleAdmin
	// RulePublic lets in whoever can connect.
	RulePublic
)

// ErrNoRule: a route was registered without saying who may call it.
var ErrNoRule = errors.New("route without a rule")

const ruleKey = "berth.rule"

// route is one registered route, as the tests of rules walk them.
type route struct {
	method, path string
	rule         Rule
}

// registrar collects routes and the faults in their registration.
type registrar struct {
	api    huma.API
	routes []route
	errs   []error
}

// register adds a route with its rule. Go has no generic methods, hence the
// function.
func register[I, O any](r *registrar, rule Rule, op huma.Operation, handler func(context.Context, *I) (*O, error)) {
	if rule != RuleAdmin && rule != RulePublic {
		r.errs = append(r.errs, fmt.Errorf("%w: %s %s", ErrNoRule, op.Method, op.Path))
		return
	}
	op.Metadata = map[string]any{ruleKey: rule}
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = maxBody
	}
	op.BodyReadTimeout = bodyReadTimeout
	op.RejectUnknownQueryParameters = true
	op.Responses = withProblem(r.api, op.Responses)
	r.routes = append(r.routes, route{op.Method, op.Path, rule})
	huma.Register(r.api, op, handler)
}

// check reports faults in the registrations, and any route that got into the
// API past register.
func (r *registrar) check() error {
	errs := r.errs
	for path, item := range r.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Put, item.Post, item.Delete, item.Patch, item.Head, item.Options, item.Trace} {
			if op == nil {
				continue
			}
			if rule, _ := op.Metadata[ruleKey].(Rule); rule == ruleNone {
				errs = append(errs, fmt.Errorf("%w: %s %s", ErrNoRule, op.Method, path))
			}
		}
	}
	return errors.Join(errs...)
}

// guard is the middleware that applies the rule of the matched route.
func (s *Server) guard(ctx huma.Context, next func(huma.Context)) {
	rule, _ := ctx.Operation().Metadata[ruleKey].(Rule)
	if err := s.allowed(ctx.Context(), rule); err != nil {
		s.refuse(ctx, err)
		return
	}
	next(ctx)
}

// allowed decides whether the peer of a request may call a route of that rule.
func (s *Server) allowed(ctx context.Context, rule Rule) error {
	if rule == RulePublic {
		return nil
	}
	peer, ok := PeerFrom(ctx)
	switch {
	case !ok:
		return forbidden("nothing is known about who is calling")
	case rule == RuleAdmin && (peer.UID == 0 || peer.UID == s.deps.AdminUID):
		return nil
	}
	return forbidden(fmt.Sprintf("user %d is not an administrator of this Berth", peer.UID))
}

// withProblem documents that every failure is a problem document.
func withProblem(api huma.API, responses map[string]*huma.Response) map[string]*huma.Response {
	if responses == nil {
		responses = map[string]*huma.Response{}
	}
	responses["default"] = &huma.Response{
		Description: "A failure, as RFC 9457 describes it.",
		Content: map[string]*huma.MediaType{
			problemJSON: {Schema: schemaOf(api, problemType)},
		},
	}
	return responses
}

func op(method, path, id, summary string) huma.Operation {
	return huma.Operation{Method: method, Path: path, OperationID: id, Summary: summary, DefaultStatus: http.StatusOK}
}
