package backendd_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/daemon/backendd"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

func (h *house) socket() string { return filepath.Join(h.opts.DataDir, backendd.SocketName) }

func (h *house) operator() *client.Backend {
	c := client.NewBackend(h.socket())
	h.t.Cleanup(c.Close)
	return c
}

func TestTheOperatorsSocketIsItsOwnersAlone(t *testing.T) {
	h := newHouse(t)
	url, stop := h.start()
	info, err := os.Stat(h.socket())
	if err != nil || info.Mode().Type() != os.ModeSocket || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if s, err := h.operator().Status(t.Context()); err != nil || s.Name != "docker-1" || s.Version != "test" || s.Healthy || s.Error == "" || !slices.Contains(s.Notes, "the size of a disk is counted and not enforced") {
		t.Errorf("%+v, %v", s, err)
	}
	for _, path := range []string{"/admin/status", "/admin/leases", "/admin/drain"} { // the port has none of it
		if code, body := get(t, url+path); code != http.StatusNotFound {
			t.Errorf("%s on the port: %d %s", path, code, body)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(h.socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after its end the socket is %v", err)
	}
}

func TestASocketThatAKillLeftIsReplacedAndOneInUseIsNot(t *testing.T) {
	h := newHouse(t)
	if err := os.MkdirAll(h.opts.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", h.socket())
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	h.start()
	// Neither a second one on its directory, nor one elsewhere that is told its socket.
	if err := backendd.Run(t.Context(), h.opts, slog.New(slog.DiscardHandler)); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second one: %v", err)
	}
	elsewhere := h.opts
	elsewhere.DataDir, elsewhere.Socket, elsewhere.Place = filepath.Join(h.dir, "other"), h.socket(), h.opts.Place+"-2"
	if err := backendd.Run(t.Context(), elsewhere, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "another daemon serves on this socket") {
		t.Errorf("one elsewhere: %v", err)
	}
	if _, err := h.operator().Status(t.Context()); err != nil {
		t.Errorf("the first one: %v", err)
	}
}

func TestADrainLastsOverRestartsAndIsToldOnThePort(t *testing.T) {
	h := newHouse(t)
	url, stop := h.start()
	if err := h.client(url, secret).Provision(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	drained, err := h.operator().Drain(t.Context(), true)
	if err != nil || !drained.On {
		t.Fatalf("%+v, %v", drained, err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	url, _ = h.start()
	c := h.client(url, secret)
	second := request()
	second.LeaseUUID = "018f3c1e-7b2a-7c4d-9e5f-0123456789ac"
	if err := c.Provision(t.Context(), second); !errors.Is(err, backend.ErrInsufficientResources) {
		t.Errorf("a new lease: %v", err)
	}
	if code, body := get(t, url+"/stats"); code != http.StatusOK || !strings.Contains(body, `"total_cpu_cores":0.25`) || !strings.Contains(body, `"available_memory_mb":0`) {
		t.Errorf("stats: %d %s", code, body)
	}
	o := h.operator()
	if s, err := o.Status(t.Context()); err != nil || !s.Drain.On || s.Capacity.CPUCores.Total != 1 || s.Leases["provisioning"] != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if l, err := o.Lease(t.Context(), lease); err != nil || l.Operation == nil || l.Tenant != "acme" || l.Callbacks.Target != "http://127.0.0.1:9" {
		t.Errorf("%+v, %v", l, err)
	}
	if err := c.Deprovision(t.Context(), lease); err != nil {
		t.Errorf("a lease that is here: %v", err)
	}
	if _, err := o.Drain(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if err := c.Provision(t.Context(), second); err != nil {
		t.Errorf("after the drain: %v", err)
	}
}

func TestTheOperatorReadsWhatTheHolderDoesWithoutASecret(t *testing.T) {
	h := newHouse(t)
	url, _ := h.start()
	o := h.operator()
	for i := range 3 {
		req := request()
		req.Items[0].Quantity, req.LeaseUUID = 0, lease[:len(lease)-1]+string(rune('a'+i))
		if err := h.client(url, secret).Provision(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := o.Leases(t.Context()); err != nil || len(all) != 3 || all[0].Tenant != "acme" || len(all[0].Items) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if all, err := o.Retentions(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if names, err := o.LeaseNames(t.Context(), lease[:20], 2); err != nil || len(names.Leases) != 2 || !names.More {
		t.Errorf("%+v, %v", names, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Status(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	if _, err := o.Logs(t.Context(), "018f3c1e-7b2a-7c4d-9e5f-0123456789ff", 1); !client.IsProblem(err, wire.ProblemNotFound) {
		t.Errorf("the logs of no lease: %v", err)
	}
}
