package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/server"
)

// What the backend floor's lines share: leases, a server on a port of its own, and a
// plain handler that does the same without asking who it is.

const (
	backendSecret = "a-secret-of-the-benchmarks-0123456789"
	benchSKU      = "018f3c1e-7b2a-7c4d-9e5f-00000000000a"
	benchManifest = `{"image":"docker.io/library/program:1","ports":{"8080/tcp":{}},"env":{"A":"1","B":"2"}}`
)

func leaseID(n int) string { return fmt.Sprintf("018f3c1e-7b2a-7c4d-9e5f-%012x", n) }

func provisionOf(n int) backend.ProvisionRequest {
	return backend.ProvisionRequest{
		LeaseUUID: leaseID(n), Tenant: fmt.Sprintf("tenant-%d", n%100), ProviderUUID: "018f3c1e-7b2a-7c4d-9e5f-0000000000ee",
		Items: []backend.LeaseItem{{SKU: benchSKU, Quantity: 1}}, CallbackURL: "http://127.0.0.1:9/callbacks/provision", Payload: []byte(benchManifest),
	}
}

// provisionBody is the body of such a request.
func provisionBody(n int) []byte {
	text, err := json.Marshal(provisionOf(n))
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return text
}

// served is a handler on a port of the loopback.
type served struct {
	url     string
	address string
	server  *http.Server
	ended   chan struct{}
}

func serve(ctx context.Context, handler http.Handler) (*served, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &served{
		url: "http://" + l.Addr().String(), address: l.Addr().String(), ended: make(chan struct{}),
		server: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second},
	}
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(l) // until it is closed
	}()
	return s, nil
}

func (s *served) stop() {
	_ = s.server.Close() // its connections are those of this process
	<-s.ended
}

// signedServer is a backend as it is offered, with every request signed.
func signedServer(b backend.Backend) (http.Handler, error) {
	v, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{backendSecret}})
	if err != nil {
		return nil, err
	}
	return server.New(b, server.Config{Auth: v}), nil
}

// plainly answers with a value as JSON.
func plainly(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}
