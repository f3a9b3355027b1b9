package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/server"
)

// scripted is a backend that answers what it was told to and notes what it was
// asked.
type scripted struct {
	mu    sync.Mutex
	asked []any

	err        error
	panics     bool
	waits      bool
	info       *backend.LeaseInfo
	provisions []backend.ProvisionInfo
	retentions []backend.RetainedLease
	logs       map[string]string
	releases   []backend.ReleaseInfo
	load       *backend.LoadStats
}

var _ backend.Backend = (*scripted)(nil)

// note is what every method does.
func (s *scripted) note(ctx context.Context, what any) error {
	s.mu.Lock()
	s.asked = append(s.asked, what)
	s.mu.Unlock()
	if s.panics {
		panic("the secret inside")
	}
	if s.waits {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.err
}

func (s *scripted) last() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) == 0 {
		return nil
	}
	return s.asked[len(s.asked)-1]
}

func (s *scripted) Provision(ctx context.Context, r backend.ProvisionRequest) error {
	return s.note(ctx, r)
}
func (s *scripted) Restart(ctx context.Context, r backend.RestartRequest) error {
	return s.note(ctx, r)
}
func (s *scripted) Update(ctx context.Context, r backend.UpdateRequest) error { return s.note(ctx, r) }
func (s *scripted) Restore(ctx context.Context, r backend.RestoreRequest) error {
	return s.note(ctx, r)
}
func (s *scripted) Health(ctx context.Context) error       { return s.note(ctx, "health") }
func (s *scripted) RefreshState(ctx context.Context) error { return s.note(ctx, "refresh") }
func (s *scripted) Name() string                           { return "scripted" }

func (s *scripted) Deprovision(ctx context.Context, id string) error {
	return s.note(ctx, backend.DeprovisionRequest{LeaseUUID: id})
}

func (s *scripted) ReconcileCustomDomain(ctx context.Context, id string, items []backend.LeaseItem) error {
	return s.note(ctx, backend.ReconcileCustomDomainRequest{LeaseUUID: id, Items: items})
}

func (s *scripted) GetInfo(ctx context.Context, id string) (*backend.LeaseInfo, error) {
	return s.info, s.note(ctx, id)
}

func (s *scripted) ListProvisions(ctx context.Context) ([]backend.ProvisionInfo, error) {
	return s.provisions, s.note(ctx, "list")
}

func (s *scripted) LookupProvisions(ctx context.Context, ids []string) ([]backend.ProvisionInfo, error) {
	return s.provisions, s.note(ctx, ids)
}

func (s *scripted) GetProvision(ctx context.Context, id string) (*backend.ProvisionInfo, error) {
	if err := s.note(ctx, id); err != nil || len(s.provisions) == 0 {
		return nil, err
	}
	return &s.provisions[0], nil
}

type logCall struct {
	lease string
	tail  int
}

func (s *scripted) GetLogs(ctx context.Context, id string, tail int) (map[string]string, error) {
	return s.logs, s.note(ctx, logCall{id, tail})
}

func (s *scripted) GetReleases(ctx context.Context, id string) ([]backend.ReleaseInfo, error) {
	return s.releases, s.note(ctx, id)
}

func (s *scripted) GetLoadStats(ctx context.Context) (*backend.LoadStats, error) {
	return s.load, s.note(ctx, "load")
}

func (s *scripted) ListRetentions(ctx context.Context) ([]backend.RetainedLease, error) {
	return s.retentions, s.note(ctx, "retentions")
}

const (
	lease1 = "018f3c1e-7b2a-7c4d-9e5f-000000000001"
	lease2 = "018f3c1e-7b2a-7c4d-9e5f-000000000002"
	lease3 = "018f3c1e-7b2a-7c4d-9e5f-000000000003"
)

// unsigned is a server that needs no signatures.
func unsigned(b backend.Backend) http.Handler {
	return server.New(b, server.Config{Unsigned: true})
}

// said is an answer as a client sees it.
type said struct {
	code int
	body string
	head http.Header
}

// ask sends a request through the handler.
func ask(t *testing.T, h http.Handler, method, target, body string) said {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(method, target, strings.NewReader(body)))
	res := rec.Result()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusNoContent && res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s: the answer %d has the type %q", method, target, res.StatusCode, res.Header.Get("Content-Type"))
	}
	return said{res.StatusCode, strings.TrimSpace(string(text)), res.Header}
}

// refused is the answer as an error.
func (s said) refused(t *testing.T) backend.ErrorResponse {
	t.Helper()
	var e backend.ErrorResponse
	if err := json.Unmarshal([]byte(s.body), &e); err != nil || e.Error == "" {
		t.Errorf("the answer %d has the body %q, not that of an error", s.code, s.body)
	}
	return e
}
