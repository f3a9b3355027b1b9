package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/server"
)

const secret = "0123456789abcdef0123456789abcdef"

// told is a backend that tells its holder at once what comes of a lease.
type told struct {
	*backend.MockBackend
	t      *testing.T
	fails  bool
	target string
	left   map[string]bool
}

func (b *told) Provision(ctx context.Context, req backend.ProvisionRequest) error {
	if err := b.MockBackend.Provision(ctx, req); err != nil {
		return err
	}
	b.target, b.left[req.LeaseUUID] = req.CallbackURL, true
	p := backend.CallbackPayload{LeaseUUID: req.LeaseUUID, Status: backend.CallbackStatusSuccess}
	if b.fails {
		p.Status, p.Error = backend.CallbackStatusFailed, "image pull failed"
	}
	b.tell(p)
	return nil
}

func (b *told) Deprovision(ctx context.Context, lease string) error {
	if err := b.MockBackend.Deprovision(ctx, lease); err != nil {
		return err
	}
	delete(b.left, lease)
	b.tell(backend.CallbackPayload{LeaseUUID: lease, Status: backend.CallbackStatusDeprovisioned})
	return nil
}

func (b *told) GetInfo(context.Context, string) (*backend.LeaseInfo, error) {
	return &backend.LeaseInfo{Services: map[string]backend.LeaseService{"app": {Instances: []backend.LeaseInstance{{Status: "running", FQDN: "app-1.leases.example.net"}}}}}, nil
}

func (b *told) tell(p backend.CallbackPayload) {
	body, err := json.Marshal(p)
	if err != nil {
		b.t.Error(err)
	}
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.target, bytes.NewReader(body))
	if err != nil {
		b.t.Error(err)
		return
	}
	key, err := hmacauth.NewKey(secret)
	if err != nil {
		b.t.Error(err)
		return
	}
	key.SignRequest(req, body, time.Now())
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Error(err)
		return
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b.t.Errorf("a callback is answered with %s", resp.Status)
	}
}

// try runs the example against a backend, and says what it prints.
func try(t *testing.T, fails bool, ours string) (b *told, out string, err error) {
	t.Helper()
	verifier, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	b = &told{MockBackend: backend.NewMockBackend(backend.MockBackendConfig{Name: "mock"}), t: t, fails: fails, left: map[string]bool{}}
	srv := httptest.NewServer(server.New(b, server.Config{Auth: verifier}))
	defer srv.Close()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(ours+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	err = run(t.Context(), options{url: srv.URL, secretFile: file, sku: "small", image: "shop:1", port: 80, quantity: 1, tenant: "acme", domain: "shop.example.org"}, &text)
	return b, text.String(), err
}

func TestALeaseIsShownByItsNameAndGivenUp(t *testing.T) {
	b, out, err := try(t, false, secret)
	if err != nil || len(b.left) > 0 {
		t.Errorf("%v; left is %v", err, b.left)
	}
	for _, want := range []string{"callback: success", "app/0 is called app-1.leases.example.net", "shop.example.org is asked for", "callback: deprovisioned"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q: %s", want, out)
		}
	}
}

func TestALeaseThatFailedIsGivenUp(t *testing.T) {
	b, out, err := try(t, true, secret)
	if err == nil || !strings.Contains(err.Error(), "image pull failed") {
		t.Errorf("it ends with %v", err)
	}
	if len(b.left) > 0 || !strings.Contains(out, "callback: deprovisioned") {
		t.Errorf("left is %v: %s", b.left, out)
	}
}

func TestAWrongSecretIsExplained(t *testing.T) {
	_, out, err := try(t, false, strings.Repeat("x", 32))
	if err == nil || !strings.Contains(err.Error(), "secret_file") || strings.Contains(out, "deprovision") {
		t.Errorf("it ends with %v: %s", err, out)
	}
}
