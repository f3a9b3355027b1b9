package testimage

import (
	"crypto/subtle"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	ggcr "github.com/google/go-containerregistry/pkg/registry"
)

// RegistryServer is a registry inside the test, on a free port of 127.0.0.1,
// from which an engine on this machine pulls without TLS.
type RegistryServer struct {
	// Host is "127.0.0.1:port", the beginning of every reference.
	Host string
	// Username and Password are empty for a registry that wants none.
	Username, Password string

	http     *http.Client
	mu       sync.Mutex
	requests []string
	gate     func(*http.Request)
}

// Registry starts a registry that anyone may read and write.
func Registry(t testing.TB) *RegistryServer { return RegistryWithAuth(t, "", "") }

// RegistryWithAuth starts a registry that asks for these credentials.
func RegistryWithAuth(t testing.TB, username, password string) *RegistryServer {
	t.Helper()
	r := &RegistryServer{Username: username, Password: password}
	store := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !r.admits(req) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`)
			return
		}
		if gate := r.note(req); gate != nil {
			gate(req)
		}
		store.ServeHTTP(w, req)
	}))
	t.Cleanup(srv.Close)
	r.Host, r.http = strings.TrimPrefix(srv.URL, "http://"), srv.Client()
	return r
}

func (r *RegistryServer) admits(req *http.Request) bool {
	if r.Username == "" {
		return true
	}
	user, pass, ok := req.BasicAuth()
	return ok && subtle.ConstantTimeCompare([]byte(user), []byte(r.Username)) == 1 &&
		subtle.ConstantTimeCompare([]byte(pass), []byte(r.Password)) == 1
}

func (r *RegistryServer) note(req *http.Request) func(*http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, req.Method+" "+req.URL.Path)
	return r.gate
}

// Requests returns the admitted requests so far, as in "GET /v2/".
func (r *RegistryServer) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.requests...)
}

// Gate calls fn before each request is served; fn may block until the
// request's context is done. nil opens the gate.
func (r *RegistryServer) Gate(fn func(*http.Request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gate = fn
}
