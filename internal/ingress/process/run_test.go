package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/ingress/controlclient"
	"github.com/berth-cloud/berth/internal/ingress/table"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// instance is a data plane in this process.
type instance struct {
	url    string
	hello  table.Hello
	client *controlclient.Client
	stop   func() error
	wait   func() error // for an end that somebody else brought about
}

func start(t *testing.T, dir, bootID string) *instance {
	t.Helper()
	return startWith(t, dir, bootID, func(*Options) {})
}

func startWith(t *testing.T, dir, bootID string, change func(*Options)) *instance {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan table.Hello, 1), make(chan error, 1)
	o := Options{
		Dir: dir, HTTP: []string{"127.0.0.1:0"}, Control: filepath.Join(dir, "control.sock"),
		Build: "test", BootID: bootID, StopTimeout: time.Second, Ready: func(h table.Hello) { ready <- h },
	}
	change(&o)
	go func() { done <- Run(ctx, slog.New(slog.DiscardHandler), o) }()
	in := &instance{client: controlclient.New(o.Control)}
	stopped := false
	in.wait = func() error {
		if stopped {
			return nil
		}
		stopped = true
		in.client.Close()
		return <-done
	}
	in.stop = func() error {
		cancel()
		return in.wait()
	}
	t.Cleanup(func() {
		if err := in.stop(); err != nil {
			t.Errorf("the data plane ended with %v", err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	select {
	case h := <-ready:
		in.hello, in.url = h, h.Listeners[0]
	case err := <-done:
		t.Fatalf("the data plane did not start: %v", err)
	case <-time.After(10 * time.Second):
		t.Fatal("the data plane did not start in time")
	}
	return in
}

func (in *instance) get(t *testing.T, host string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, in.url+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func backend(t *testing.T, says string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, says) }))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func oneRoute(version int64, bootID, address string) table.Table {
	return table.Table{Protocol: table.Protocol, Owner: table.OwnerServer, Version: version, BootID: bootID, Routes: []table.Route{{
		Service: "shop-web", Hosts: []string{"shop.test"}, Path: "/", HoldTimeout: 300 * time.Millisecond, DrainTimeout: time.Second,
		Targets: []table.Target{{ID: "shop-web-1", Address: address}},
	}}}
}

func TestAPushedTableIsServedAcknowledgedAndReported(t *testing.T) {
	in := start(t, t.TempDir(), "boot-1")
	if status, _ := in.get(t, "shop.test"); status != http.StatusNotFound {
		t.Fatalf("before the push: status %d, want 404", status)
	}
	hello, err := in.client.Hello(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ack, err := in.client.Push(t.Context(), oneRoute(7, "boot-1", backend(t, "one")))
	if err != nil {
		t.Fatal(err)
	}
	if ack.Epoch != hello.Epoch || ack.Version != 7 || ack.Owner != table.OwnerServer {
		t.Errorf("ack %+v does not match epoch %s, version 7", ack, hello.Epoch)
	}
	if status, body := in.get(t, "SHOP.test:8080"); status != http.StatusOK || body != "one" {
		t.Errorf("got %d %q, want 200 one", status, body)
	}
	err = in.client.Reports(t.Context(), func(r table.Report) error {
		if r.Versions[table.OwnerServer] != 7 || len(r.Targets) != 1 || r.Targets[0].ID != "shop-web-1" {
			return fmt.Errorf("report %+v", r)
		}
		return io.EOF
	})
	if !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func TestADataPlaneThatStartsAloneServesItsStoredTable(t *testing.T) {
	dir, address := t.TempDir(), backend(t, "one")
	first := start(t, dir, "boot-1")
	if _, err := first.client.Push(t.Context(), oneRoute(1, "boot-1", address)); err != nil {
		t.Fatal(err)
	}
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir, "boot-1")
	if status, body := second.get(t, "shop.test"); status != http.StatusOK || body != "one" {
		t.Errorf("got %d %q, want 200 one", status, body)
	}
}

func TestAfterARebootRequestsAreHeldUntilTheOwnerPushes(t *testing.T) {
	dir, address := t.TempDir(), backend(t, "one")
	first := start(t, dir, "boot-1")
	if _, err := first.client.Push(t.Context(), oneRoute(1, "boot-1", address)); err != nil {
		t.Fatal(err)
	}
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, dir, "boot-2")
	if status, _ := second.get(t, "shop.test"); status != http.StatusServiceUnavailable {
		t.Errorf("status %d before the push, want 503 after the hold", status)
	}
	// The same version again, as an owner does that has changed nothing.
	if _, err := second.client.Push(t.Context(), oneRoute(1, "boot-2", address)); err != nil {
		t.Fatal(err)
	}
	if status, body := second.get(t, "shop.test"); status != http.StatusOK || body != "one" {
		t.Errorf("got %d %q after the push, want 200 one", status, body)
	}
}

func TestATakenPortIsNamedWithWhatToDo(t *testing.T) {
	in := start(t, t.TempDir(), "boot-1")
	address := strings.TrimPrefix(in.url, "http://")
	dir := t.TempDir()
	err := Run(t.Context(), slog.New(slog.DiscardHandler), Options{Dir: dir, HTTP: []string{address}, Control: filepath.Join(dir, "c.sock")})
	if err == nil || !strings.Contains(err.Error(), address) || !strings.Contains(err.Error(), "--http") {
		t.Errorf("got %v, want an error that names %s and --http", err, address)
	}
}

func TestASecondDataPlaneOnOneDirectoryIsRefused(t *testing.T) {
	dir := t.TempDir()
	start(t, dir, "boot-1")
	err := Run(t.Context(), slog.New(slog.DiscardHandler), Options{Dir: dir, HTTP: []string{"127.0.0.1:0"}, Control: filepath.Join(dir, "other.sock")})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("got %v, want an error that names the holder's pid", err)
	}
}
