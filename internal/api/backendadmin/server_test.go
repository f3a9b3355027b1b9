package backendadmin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const lease = "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"

// untouched is a backend that nobody may ask.
type untouched struct {
	backend.Backend
	Leases
	Callbacks
}

func deps() Deps {
	var u untouched
	return Deps{Backend: u.Backend, Leases: u, Callbacks: u, Capacity: func() pool.Stats { return pool.Stats{} }, AdminUID: 1000}
}

type named struct{ backend.Backend }

func newAdmin(t *testing.T) *admin {
	t.Helper()
	d := deps()
	d.Backend = named{}
	if err := d.check(); err != nil {
		t.Fatal(err)
	}
	return &admin{d}
}

func TestEveryRouteRefusesAnotherUser(t *testing.T) {
	a := newAdmin(t)
	routes := a.routes()
	h, err := a.build(routes)
	if err != nil {
		t.Fatal(err)
	}
	asked := []string{ // what the one for all others leads to, too
		"GET /provisions", "GET /provisions/" + lease, "GET /info/" + lease, "GET /logs/" + lease, "GET /releases/" + lease, "GET /retentions",
		"GET /health", "GET /stats", "POST /provision", "POST /deprovision", "GET /metrics", "DELETE /admin/drain", "GET /admin/nothing", "GET /nothing",
	}
	if len(routes) < 6 {
		t.Fatalf("only %d routes are known", len(routes))
	}
	for _, r := range routes {
		if method, path, ok := strings.Cut(r.pattern, " "); ok {
			asked = append(asked, method+" "+strings.ReplaceAll(path, "{lease}", lease))
		}
	}
	for _, what := range asked {
		method, path, _ := strings.Cut(what, " ")
		for who, ctx := range map[string]context.Context{
			"unknown":    t.Context(),
			"other user": api.WithPeer(t.Context(), api.Peer{UID: 1001}),
		} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(`{"on":true}`)))
			var p wire.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusForbidden || p.Type != wire.ProblemForbidden {
				t.Errorf("%s by %s: %d %s", what, who, w.Code, w.Body)
			}
		}
	}
}

func TestRootAndTheDaemonsOwnUserOperateTheBackend(t *testing.T) {
	for uid, code := range map[int]int{0: http.StatusNotFound, 1000: http.StatusNotFound, 1001: http.StatusForbidden} {
		a := newAdmin(t)
		h, err := a.build(a.routes())
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		ctx := api.WithPeer(t.Context(), api.Peer{UID: uid})
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/admin/nothing", http.NoBody))
		if w.Code != code {
			t.Errorf("user %d: %d", uid, w.Code)
		}
	}
}

func TestARouteWithoutARuleIsRefusedAtStart(t *testing.T) {
	a := newAdmin(t)
	for _, rule := range []api.Rule{0, api.RulePublic, 99} {
		if _, err := a.build([]route{{pattern: "GET /admin/x", rule: rule}}); !errors.Is(err, api.ErrNoRule) {
			t.Errorf("rule %d: %v", rule, err)
		}
	}
}

func TestWhatIsMissingIsSaidAtStart(t *testing.T) {
	if _, err := New(Deps{}); err == nil {
		t.Error("it serves nothing")
	}
}

// broken is a hosting whose store is out of reach.
type broken struct{ Leases }

func (broken) Draining() hosting.Drain { return hosting.Drain{} }
func (broken) Drain(context.Context, bool) (hosting.Drain, error) {
	return hosting.Drain{}, errors.New("the disk is full")
}

func (broken) Inspect(context.Context, string) (*hosting.Inspection, error) {
	return &hosting.Inspection{Lease: backend.ProvisionInfo{LeaseUUID: lease}}, nil
}

type mute struct{}

func (mute) Look(context.Context, string) (outbox.State, error) {
	return outbox.State{}, outbox.ErrRecord
}

func TestRequestsThatAreNotWellFormedChangeNothing(t *testing.T) {
	a := newAdmin(t)
	a.deps.Leases, a.deps.Callbacks = broken{}, mute{}
	h, err := a.build(a.routes())
	if err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]int{
		"POST /admin/drain ":                                        http.StatusBadRequest,
		"POST /admin/drain {}":                                      http.StatusBadRequest,
		`POST /admin/drain {"on":null}`:                             http.StatusBadRequest,
		`POST /admin/drain {"on":true,"force":true}`:                http.StatusBadRequest,
		`POST /admin/drain {"on":true} {"on":false}`:                http.StatusBadRequest,
		`POST /admin/drain {"on":"` + strings.Repeat("x", 5000):     http.StatusBadRequest,
		`POST /admin/drain {"on":true}`:                             http.StatusInternalServerError,
		"GET /admin/leases/018f ":                                   http.StatusBadRequest,
		"GET /admin/leases/{018f3c1e-7b2a-7c4d-9e5f-0123456789ab} ": http.StatusBadRequest,
		"GET /admin/leases/" + lease + " ":                          http.StatusInternalServerError,
		"GET /admin/leases?prefix=.. ":                              http.StatusBadRequest,
		"GET /admin/leases?prefix=" + lease + "0 ":                  http.StatusBadRequest,
		"GET /admin/leases?limit=0 ":                                http.StatusBadRequest,
		"GET /admin/leases?limit=201 ":                              http.StatusBadRequest,
		"GET /admin/retentions?limit=0 ":                            http.StatusBadRequest,
		"GET /admin/retentions?limit=x ":                            http.StatusBadRequest,
	} {
		method, rest, _ := strings.Cut(what, " ")
		path, body, _ := strings.Cut(rest, " ")
		w := httptest.NewRecorder()
		ctx := api.WithPeer(t.Context(), api.Peer{UID: 0})
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body)))
		var p wire.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != want || p.Detail == "" {
			t.Errorf("%.80s: %d %s", what, w.Code, w.Body)
		}
	}
}
