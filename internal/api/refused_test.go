package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/api/apitest"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// refusals are requests that are refused, each with its answer in
// testdata/refused/NAME.txt. UPDATE=1 writes those anew.
var refusals = []struct {
	name, method, path, body string
}{
	{"no-such-route", "GET", "/v2/apps", ""},
	{"wrong-method", "PUT", "/v1/apps", ""},
	{"no-body", "POST", "/v1/apply", ""},
	{"not-json", "POST", "/v1/apply", "name: shop"},
	{"unknown-field", "POST", "/v1/apply", `{"source":"name: x","force":true}`},
	{"wrong-type", "POST", "/v1/apply", `{"source":["name: x"]}`},
	{"no-source", "POST", "/v1/apply", `{"dry_run":true}`},
	{"too-large", "POST", "/v1/apps/shop/rollback", `{"service":"` + strings.Repeat("x", 70_000) + `"}`},
	{"invalid-spec", "POST", "/v1/apply", source(`name: Shop
services:
  web:
    image: a/b:1
    prot: 80
    replicas: many
`)},
	{"empty-file", "POST", "/v1/apply", source("")},
	{"another-app", "POST", "/v1/apply", `{"app":"blog","source":"name: shop\nservices:\n  web:\n    image: a/b:1\n"}`},
	{"interrupts", "POST", "/v1/apply", source(strings.ReplaceAll(stateful, "db:1", "db:2"))},
	{"removes", "POST", "/v1/apply", source(strings.Split(stateful, "  web:")[0])},
	{"stale-base", "POST", "/v1/apply", fmt.Sprintf(`{"base":{"shop-db":7,"shop-gone":1},"source":%q}`, strings.ReplaceAll(stateful, "web:1", "web:2"))},
	{"domain-taken", "POST", "/v1/apply", source("name: blog\nservices:\n  web:\n    image: a/b:1\n    port: 80\n    domains: [shop.localhost]\n")},
	{"name-taken", "POST", "/v1/apply", source("name: shop-db\nservices:\n  x:\n    image: a/b:1\n")},
	{"no-such-app", "GET", "/v1/apps/blog", ""},
	{"no-such-service", "GET", "/v1/apps/shop/services/api/releases", ""},
	{"rollback-no-app", "POST", "/v1/apps/blog/rollback", `{"service":"web"}`},
	{"rollback-no-service", "POST", "/v1/apps/shop/rollback", `{"service":"api"}`},
	{"rollback-no-release", "POST", "/v1/apps/shop/rollback", `{"service":"web","release":"v9"}`},
	{"rollback-no-previous", "POST", "/v1/apps/shop/rollback", `{"service":"web"}`},
	{"rollback-empty-service", "POST", "/v1/apps/shop/rollback", `{"service":""}`},
	{"restart-no-app", "POST", "/v1/apps/blog/restart", `{}`},
	{"restart-no-service", "POST", "/v1/apps/shop/restart", `{"services":["web","api"]}`},
	{"restart-interrupts", "POST", "/v1/apps/shop/restart", `{}`},
	{"restart-stale-base", "POST", "/v1/apps/shop/restart", `{"services":["web"],"base":{"shop-web":7}}`},
	{"scale-no-app", "POST", "/v1/apps/blog/scale", `{"replicas":{"web":2}}`},
	{"scale-no-service", "POST", "/v1/apps/shop/scale", `{"replicas":{"api":2}}`},
	{"scale-nothing", "POST", "/v1/apps/shop/scale", `{"replicas":{}}`},
	{"scale-limits", "POST", "/v1/apps/shop/scale", `{"replicas":{"db":2,"web":0,"db-x":201}}`},
	{"containers-no-app", "GET", "/v1/apps/blog/containers", ""},
	{"exec-no-websocket", "GET", "/v1/apps/shop/services/web/exec", ""},
	{"secret-no-app", "GET", "/v1/apps/blog/secrets", ""},
	{"secret-bad-name", "PUT", "/v1/apps/shop/secrets/a%20b", "x"},
	{"secret-not-there", "DELETE", "/v1/apps/shop/secrets/TOKEN", ""},
	{"delete-no-app", "DELETE", "/v1/apps/blog", ""},
	{"delete-unconfirmed", "DELETE", "/v1/apps/shop", ""},
	{"no-such-attempt", "GET", "/v1/attempts/99", ""},
	{"attempt-not-a-number", "GET", "/v1/attempts/last", ""},
	{"events-no-attempt", "GET", "/v1/attempts/99/events", ""},
	{"logs-no-app", "GET", "/v1/apps/blog/logs", ""},
	{"logs-no-service", "GET", "/v1/apps/shop/logs?service=api", ""},
	{"logs-no-member", "GET", "/v1/apps/shop/logs?service=web&member=main&member=cache", ""},
	{"logs-no-member-of-any", "GET", "/v1/apps/shop/logs?member=cache", ""},
	{"logs-tail", "GET", "/v1/apps/shop/logs?tail=1000000", ""},
	{"logs-since", "GET", "/v1/apps/shop/logs?since=yesterday", ""},
	{"unknown-parameter", "GET", "/v1/apps/shop/logs?lines=5", ""},
}

// stateful is an app with a service that cannot run twice.
const stateful = `name: shop
services:
  db:
    image: a/db:1
    port: 5432
    volumes:
      - {name: data, path: /data}
  web:
    image: a/web:1
    port: 8080
    domains: [shop.localhost]
  db-x:
    image: a/x:1
`

func source(text string) string {
	data, err := json.Marshal(wire.ApplyRequest{Source: text, Filename: "app.yaml"})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func TestRefusalsSayWhatIsWrongAndWhatToDo(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.Logs = noLogs{} })
	apply(t, d, stateful)
	caller := overSocket(d.Socket)
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), c.method, "http://berth"+c.path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if c.body != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			resp, err := caller.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got := resp.Header.Get("Content-Type"); got != "application/problem+json" {
				t.Errorf("content type %q", got)
			}
			var p wire.Problem
			if err := json.Unmarshal(body, &p); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			if p.Type == "" || p.Title == "" || p.Detail == "" || p.Hint == "" || p.Status != resp.StatusCode {
				t.Errorf("incomplete: %s", body)
			}
			golden(t, filepath.Join("testdata", "refused", c.name+".txt"), transcript(c.method, c.path, resp.StatusCode, body))
		})
	}
}

func transcript(method, path string, status int, body []byte) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s\n%d\n", method, path, status)
	_ = json.Indent(&out, body, "", "  ")
	return out.Bytes()
}

// golden compares with a file, or writes it when UPDATE is set.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("differs from %s:\n%s", file, got)
	}
}

// start runs a daemon for the test.
func start(t *testing.T, change func(*api.Deps)) *apitest.Daemon {
	t.Helper()
	d, err := apitest.Start(change)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func overSocket(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	}}
}

// apply applies a file, waits for the outcome and returns it.
func apply(t *testing.T, d *apitest.Daemon, text string) wire.Attempt {
	t.Helper()
	return await(t, d, applied(t, d, wire.ApplyRequest{Source: text, AllowInterrupt: true, AllowRemove: true}))
}

// applied sends a request that must be accepted.
func applied(t *testing.T, d *apitest.Daemon, req wire.ApplyRequest) wire.ChangeResult {
	t.Helper()
	c := client.New(d.Socket)
	defer c.Close()
	result, err := c.Apply(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// await follows the attempt of a result to its end.
func await(t *testing.T, d *apitest.Daemon, result wire.ChangeResult) wire.Attempt {
	t.Helper()
	if result.Attempt == nil {
		t.Fatalf("no attempt: %+v", result.Plan)
	}
	c := client.New(d.Socket)
	defer c.Close()
	final, err := c.FollowAttempt(t.Context(), result.Attempt.ID, 0, client.Follower{})
	if err != nil {
		t.Fatal(err)
	}
	return final
}

// noLogs is a source without a line.
type noLogs struct{}

func (noLogs) Logs(context.Context, wire.LogQuery, func(wire.LogEntry) error) error { return nil }

// fullStore is on a disk without space.
type fullStore struct{ api.Store }

func (fullStore) ApplyChange(context.Context, store.Change) (store.Attempt, error) {
	return store.Attempt{}, fmt.Errorf("change app shop: %w: commit: disk is full (13)", store.ErrNoSpace)
}

func TestAFullDiskIsToldToTheCaller(t *testing.T) {
	d := start(t, func(deps *api.Deps) { deps.Store = fullStore{deps.Store} })
	c := client.New(d.Socket)
	defer c.Close()
	_, err := c.Apply(t.Context(), wire.ApplyRequest{Source: web})
	if !client.IsProblem(err, wire.ProblemBusy) || !strings.Contains(err.Error(), "full") {
		t.Errorf("answered %v", err)
	}
}
