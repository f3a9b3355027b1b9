package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-cloud/berth/internal/wire"
)

// noStore is enough for requests that are refused before they reach it.
type noStore struct{ Store }

func newServer(t *testing.T) *Server {
	t.Helper()
	s, err := New(Deps{Store: noStore{}, AdminUID: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// public are the routes that anybody who can connect may call. One more here
// is a decision.
var public = []string{"GET /v1/version", "GET /openapi.json"}

func TestEveryRouteRefusesWhomItsRuleDoesNotName(t *testing.T) {
	s := newServer(t)
	if len(s.routes) < 20 {
		t.Fatalf("only %d routes are known", len(s.routes))
	}
	for _, r := range s.routes {
		name := r.method + " " + r.path
		if (r.rule == RulePublic) != slices.Contains(public, name) {
			t.Errorf("%s has rule %d", name, r.rule)
		}
		if r.rule == RulePublic {
			continue
		}
		path := strings.NewReplacer("{id}", "1", "{app}", "shop", "{service}", "web", "{name}", "TOKEN", "{node}", "local").Replace(r.path)
		for who, ctx := range map[string]context.Context{
			"unknown":    t.Context(),
			"other user": WithPeer(t.Context(), Peer{UID: 1001}),
		} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, r.method, path, strings.NewReader("{}")))
			var p wire.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusForbidden || p.Type != wire.ProblemForbidden {
				t.Errorf("%s by %s: %d %s", name, who, w.Code, w.Body)
			}
		}
	}
}

func TestRootAndTheDaemonsOwnUserAreAdministrators(t *testing.T) {
	s := newServer(t)
	for uid, may := range map[int]bool{0: true, 1000: true, 1001: false} {
		if err := s.allowed(WithPeer(t.Context(), Peer{UID: uid}), RuleAdmin); (err == nil) != may {
			t.Errorf("user %d: %v", uid, err)
		}
	}
}

func TestARouteWithoutARuleIsRefusedAtStart(t *testing.T) {
	nothing := func(context.Context, *struct{}) (*struct{}, error) { return nil, nil }
	for name, add := range map[string]func(r *registrar){
		"no rule":      func(r *registrar) { register(r, ruleNone, op(http.MethodGet, "/v1/x", "x", ""), nothing) },
		"unknown rule": func(r *registrar) { register(r, Rule(99), op(http.MethodGet, "/v1/x", "x", ""), nothing) },
		"past register": func(r *registrar) {
			huma.Register(r.api, op(http.MethodGet, "/v1/x", "x", ""), nothing)
		},
	} {
		s := newServer(t)
		_, err := s.build(append(slices.Clone(allRoutes), func(_ *Server, r *registrar) { add(r) }))
		if !errors.Is(err, ErrNoRule) || !strings.Contains(err.Error(), "/v1/x") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheDescriptionNamesEveryRouteAndItsFailures(t *testing.T) {
	s := newServer(t)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/openapi.json", nil))
	var doc struct {
		OpenAPI string `json:"openapi"`
		Paths   map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Summary     string `json:"summary"`
			Responses   map[string]struct {
				Content map[string]any `json:"content"`
			} `json:"responses"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("openapi %q as %q", doc.OpenAPI, w.Header().Get("Content-Type"))
	}
	for _, r := range s.routes {
		op := doc.Paths[r.path][strings.ToLower(r.method)]
		if op.OperationID == "" || op.Summary == "" {
			t.Errorf("%s %s is not described", r.method, r.path)
		}
		if _, ok := op.Responses["default"].Content["application/problem+json"]; !ok {
			t.Errorf("%s %s does not describe its failures", r.method, r.path)
		}
	}
}

func TestAPanicInARequestIsAProblem(t *testing.T) {
	s := newServer(t) // its store panics when it is used
	w := httptest.NewRecorder()
	ctx := WithPeer(t.Context(), Peer{UID: 0})
	s.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/apps", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), string(wire.ProblemInternal)) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
