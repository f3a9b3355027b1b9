package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/config"
)

// dialMock makes mocks, and keeps what they were to be made of.
func dialMock(seen *[]backend.HTTPClientConfig) config.Dial {
	return func(c backend.HTTPClientConfig) backend.Backend {
		*seen = append(*seen, c)
		return backend.NewMockBackend(backend.MockBackendConfig{Name: c.Name})
	}
}

const example = `
backends:
  - name: docker-1
    url: http://docker-1.internal:9001/leases/
    skus:
      - a1b2c3d4-e5f6-7890-abcd-1234567890ab
      - small
    secret_file: docker-1.secret
    timeout: 45s
    max_idle_conns: 7
    max_idle_conns_per_host: 3
    page_limit: 500
    circuit_breaker:
      failure_threshold: 9
      timeout: 2m
      interval: 1h
      max_requests: 2
  - name: default
    url: https://spare.internal
    secret: ` + canary + `
    default: true
  - name: dev
    url: http://127.0.0.1:9001
    unsigned: true
`

func loadExample(t *testing.T) *config.Config {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "docker-1.secret", canary+"\n", 0o600)
	c, err := config.Load(put(t, dir, "backends.yaml", example, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAFileBecomesBackends(t *testing.T) {
	c := loadExample(t)
	var seen []backend.HTTPClientConfig
	entries := c.Entries(dialMock(&seen))
	if len(entries) != 3 || len(seen) != 3 {
		t.Fatalf("%d entries, %d clients", len(entries), len(seen))
	}
	if seen[1].TLSClientConfig == nil || seen[0].TLSClientConfig != nil {
		t.Errorf("https has the configuration %v, http %v", seen[1].TLSClientConfig, seen[0].TLSClientConfig)
	}
	seen[1].TLSClientConfig = nil
	for i, want := range []backend.HTTPClientConfig{
		{
			Name: "docker-1", BaseURL: "http://docker-1.internal:9001/leases", Secret: canary, Timeout: 45 * time.Second,
			MaxIdleConns: 7, MaxIdleConnsPerHost: 3, ProvisionsPageLimit: 500,
			CBFailureThresh: 9, CBTimeout: 2 * time.Minute, CBInterval: time.Hour, CBMaxRequests: 2,
		},
		{Name: "default", BaseURL: "https://spare.internal", Secret: canary},
		{Name: "dev", BaseURL: "http://127.0.0.1:9001"},
	} {
		if got, want := fmt.Sprintf("%+v", seen[i]), fmt.Sprintf("%+v", want); got != want {
			t.Errorf("client %d is made of\n%s; want\n%s", i+1, got, want)
		}
	}
	if want := []string{"a1b2c3d4-e5f6-7890-abcd-1234567890ab", "small"}; !slices.Equal(entries[0].Match.SKUs, want) {
		t.Errorf("the first takes %v; want %v", entries[0].Match.SKUs, want)
	}
}

func TestAFileBecomesARouter(t *testing.T) {
	c := loadExample(t)
	var seen []backend.HTTPClientConfig
	r, err := c.Router(dialMock(&seen), backend.RouterConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for sku, want := range map[string]string{"small": "docker-1", "a1b2c3d4-e5f6-7890-abcd-1234567890ab": "docker-1", "other": "default"} {
		if got := r.Route(sku).Name(); got != want {
			t.Errorf("%q goes to %s; want %s", sku, got, want)
		}
	}
}

func TestARouterMayHaveBackendsOfItsOwn(t *testing.T) {
	c := loadExample(t)
	var seen []backend.HTTPClientConfig
	own := backend.NewMockBackend(backend.MockBackendConfig{Name: "own"})
	with := backend.RouterConfig{Backends: []backend.BackendEntry{{Backend: own, Match: backend.MatchCriteria{SKUs: []string{"small"}}}}}
	r, err := c.Router(dialMock(&seen), with)
	if err != nil || r.Route("small") != backend.Backend(own) || len(r.Backends()) != 4 {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := c.Router(func(backend.HTTPClientConfig) backend.Backend { return nil }, with); err == nil {
		t.Error("a router was made of backends that are nil")
	}
}

func TestNothingThatIsPrintedOfAConfigHasASecret(t *testing.T) {
	c := loadExample(t)
	encoded, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	noCanary(t, "JSON", string(encoded))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		noCanary(t, verb, fmt.Sprintf(verb, c))
		noCanary(t, verb, fmt.Sprintf(verb, c.Backends))
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("loaded", "config", c)
	slog.New(slog.NewTextHandler(&log, nil)).Info("loaded", "config", c)
	noCanary(t, "the log", log.String())
	if log.Len() == 0 || len(encoded) < 100 {
		t.Fatal("nothing was printed")
	}
}

func TestTheFileItselfMayBeMissing(t *testing.T) {
	if _, err := config.Load(filepath.Join(t.TempDir(), "none.yaml")); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, config.ErrInvalid) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestNamesOfFilesBeginAtTheFolderOfTheFile(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	absolute := put(t, elsewhere, "b.secret", canary, 0o400)
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "sub/a.secret", canary+"\r\n", 0o600)
	path := put(t, dir, "backends.yaml", fmt.Sprintf(`{backends: [
		{name: a, url: 'http://a', secret_file: sub/a.secret}, {name: b, url: 'http://b', secret_file: %q}]}`, absolute), 0o644)
	c, err := config.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Backends {
		if got := c.Backends[i].ClientConfig().Secret; got != canary {
			t.Errorf("the secret of %s is %q", c.Backends[i].Name, got)
		}
	}
}
