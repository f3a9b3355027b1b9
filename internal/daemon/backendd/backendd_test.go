package backendd_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/internal/daemon/backendd"
	"github.com/berth-cloud/berth/internal/daemon/backendd/settings"
	"github.com/berth-cloud/berth/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = "0123456789abcdef0123456789abcdef"
	lease  = "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"
)

// house is a backend whose engine does not answer, so that what needs none is seen.
type house struct {
	t    *testing.T
	dir  string
	opts backendd.Options
	node *fakeNode
	// logger is of those that are started; nil is none.
	logger *slog.Logger
}

func newHouse(t *testing.T) *house {
	h := &house{t: t, dir: t.TempDir(), node: &fakeNode{}}
	h.write("backend.secret", secret)
	h.write("backend.yaml", `name: docker-1
listen: 127.0.0.1:0
secret_file: backend.secret
docker: unix://`+h.dir+`/no-engine.sock
sku_profiles: {micro: {cpu_cores: 0.25, memory_mb: 64, disk_mb: 1}}
sku_mapping: {018f3c1e-7b2a-7c4d-9e5f-00000000000a: micro}
disk_enforcement: none
total_cpu_cores: 1
total_memory_mb: 128
total_disk_mb: 10
allowed_registries: [docker.io]
egress: {allow_loopback: true}
`)
	h.opts = backendd.Options{ConfigFile: filepath.Join(h.dir, "backend.yaml"), DataDir: filepath.Join(h.dir, "data"), Version: "test", Node: h.node, Place: "t-" + rand.Text()}
	return h
}

func (h *house) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// start runs a backend and returns where it serves, and what ends it.
func (h *house) start() (url string, stop func() error) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	serving, ended := make(chan net.Addr, 1), make(chan error, 1)
	opts := h.opts
	opts.Serving = func(a net.Addr) { serving <- a }
	logger := h.logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	go func() { ended <- backendd.Run(ctx, opts, logger) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-ended
	}
	select {
	case a := <-serving:
		h.t.Cleanup(func() { _ = stop() })
		return "http://" + a.String(), stop
	case err := <-ended:
		cancel()
		h.t.Fatal(err)
	case <-time.After(30 * time.Second):
		cancel()
		h.t.Fatal("the backend does not serve")
	}
	return "", nil
}

func (h *house) client(url, secret string) *backend.HTTPClient {
	c := backend.NewHTTPClient(backend.HTTPClientConfig{Name: "docker-1", BaseURL: url, Secret: secret, Timeout: 10 * time.Second})
	h.t.Cleanup(c.Close)
	return c
}

func request() backend.ProvisionRequest {
	return backend.ProvisionRequest{
		LeaseUUID: lease, Tenant: "acme", ProviderUUID: "018f3c1e-7b2a-7c4d-9e5f-0000000000ee", CallbackURL: "http://127.0.0.1:9/callbacks",
		Items: []backend.LeaseItem{{SKU: "micro", Quantity: 1}}, Payload: []byte(`{"image":"program:1","ports":{"8080/tcp":{}}}`),
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestALeaseThatWasAcceptedIsThereAfterARestart(t *testing.T) {
	h := newHouse(t)
	url, stop := h.start()
	if err := h.client(url, secret).Provision(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatalf("it was asked to end: %v", err)
	}
	url, _ = h.start()
	c := h.client(url, secret)
	info, err := c.GetProvision(t.Context(), lease)
	if err != nil || info.Status != backend.ProvisionStatusProvisioning || info.Tenant != "acme" {
		t.Errorf("%+v, %v", info, err)
	}
	// What it holds is counted anew: there is room for one more.
	big := request()
	big.LeaseUUID = "018f3c1e-7b2a-7c4d-9e5f-0123456789ac"
	big.Items[0].Quantity = 2
	if err := c.Provision(t.Context(), big); !errors.Is(err, backend.ErrInsufficientResources) {
		t.Errorf("two more than there is memory for: %v", err)
	}
}

func TestOnlyWhoHasTheSecretIsAnswered(t *testing.T) {
	h := newHouse(t)
	url, _ := h.start()
	for name, with := range map[string]string{"unsigned": "", "another secret": strings.Repeat("x", 32)} {
		if err := h.client(url, with).Provision(t.Context(), request()); err == nil {
			t.Errorf("%s: it was taken", name)
		}
	}
	if all, err := h.client(url, secret).ListProvisions(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestWhatIsOpenTellsHowItIs(t *testing.T) {
	h := newHouse(t)
	url, _ := h.start()
	if code, body := get(t, url+"/health"); code != http.StatusServiceUnavailable {
		t.Errorf("without an engine the health is %d %s", code, body)
	}
	if code, body := get(t, url+"/stats"); code != http.StatusOK || !strings.Contains(body, `"total_memory_mb":128`) {
		t.Errorf("stats: %d %s", code, body)
	}
	code, body := get(t, url+"/metrics")
	for _, name := range []string{`berth_backend_requests_total{code="503",operation="health"} 1`, "berth_backend_callbacks_pending 0", "berth_backend_memory_mb_total 128"} {
		if code != http.StatusOK || !strings.Contains(body, name) {
			t.Errorf("metrics: %d, without %q:\n%s", code, name, body)
		}
	}
}

func TestACallbackMayNotLeadInside(t *testing.T) {
	h := newHouse(t)
	url, _ := h.start()
	for _, target := range []string{"http://169.254.169.254/x", "http://10.0.0.1/x", "ftp://example.org/x"} {
		req := request()
		req.CallbackURL = target
		if err := h.client(url, secret).Provision(t.Context(), req); !errors.Is(err, backend.ErrValidation) {
			t.Errorf("%s: %v", target, err)
		}
	}
}

func TestADataDirectoryHasOneBackend(t *testing.T) {
	h := newHouse(t)
	h.start()
	if err := backendd.Run(t.Context(), h.opts, slog.New(slog.DiscardHandler)); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
}

func TestWhatIsWrongInTheFileEndsIt(t *testing.T) {
	h := newHouse(t)
	h.write("backend.yaml", "name: docker-1\n")
	if err := backendd.Run(t.Context(), h.opts, slog.New(slog.DiscardHandler)); !errors.Is(err, settings.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if err := backendd.Run(t.Context(), backendd.Options{}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("it runs without a file")
	}
}

func TestTheLogHasNoSecret(t *testing.T) {
	h := newHouse(t)
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	opts := h.opts
	opts.Serving = func(net.Addr) { cancel() }
	if err := backendd.Run(ctx, opts, slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))); err != nil {
		t.Fatal(err)
	}
	if log.Len() == 0 || strings.Contains(log.String(), secret) {
		t.Errorf("the log is %q", log.String())
	}
}
