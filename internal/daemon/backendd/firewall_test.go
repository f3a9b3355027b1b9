package backendd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/berth-cloud/berth/internal/daemon/backendd"
	"github.com/berth-cloud/berth/internal/node"
)

// fakeNode is a machine that remembers its firewall.
type fakeNode struct {
	mu      sync.Mutex
	stands  *node.Rules
	sets    int
	dropped []string
	fails   error
	others  []node.Standing
}

var _ node.Host = (*fakeNode)(nil)

func (f *fakeNode) Firewall(_ context.Context, r node.Rules) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails != nil {
		return f.fails
	}
	f.stands = &r
	f.sets++
	return r.Validate()
}

func (f *fakeNode) CheckFirewall(_ context.Context, _ node.Rules) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fails == nil && f.stands == nil {
		return fmt.Errorf("%w: somebody was here", node.ErrDiffers)
	}
	return f.fails
}

func (f *fakeNode) DropFirewall(_ context.Context, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropped = append(f.dropped, name)
	f.stands = nil
	return nil
}

func (f *fakeNode) Standing(context.Context) ([]node.Standing, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.others, f.fails
}

// isolation adds to the settings.
func (h *house) isolation(line string) {
	h.t.Helper()
	text, err := os.ReadFile(h.opts.ConfigFile)
	if err != nil {
		h.t.Fatal(err)
	}
	h.write("backend.yaml", string(text)+line+"\n")
}

func TestTheFirewallStandsBeforeAnybodyIsServed(t *testing.T) {
	h := newHouse(t)
	h.isolation("isolation: {allow_private: [10.20.0.0/16], resolvers: [10.20.0.2], data_plane_ports: [8080]}")
	h.start()
	r := h.node.stands
	if r == nil || r.Pools[0].String() != "10.214.0.0/16" || r.Allow[0].String() != "10.20.0.0/16" || r.Resolvers[0] != netip.MustParseAddr("10.20.0.2") ||
		r.HostPorts[0] != 8080 || !strings.HasPrefix(r.Bridges, "bl") || !strings.Contains(r.Bridges, r.Name) {
		t.Errorf("%+v", r)
	}
}

func TestAMachineThatCanHaveNoFirewallIsRefusedUnlessItIsOff(t *testing.T) {
	h := newHouse(t)
	h.node.fails = fmt.Errorf("%w: it needs the capability CAP_NET_ADMIN", node.ErrUnable)
	err := backendd.Run(t.Context(), h.opts, slog.New(slog.DiscardHandler))
	if !errors.Is(err, node.ErrUnable) || !strings.Contains(err.Error(), "CAP_NET_ADMIN") || !strings.Contains(err.Error(), "firewall: off") {
		t.Errorf("%v", err)
	}
	h.isolation("isolation: {firewall: off}")
	h.start()
}

func TestAFirewallThatIsOffIsTakenAwayAndSaid(t *testing.T) {
	h := newHouse(t)
	ctx, cancel := context.WithCancel(t.Context())
	opts := h.opts
	opts.Serving = func(net.Addr) { cancel() }
	if err := backendd.Run(ctx, opts, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	name := h.node.stands.Name
	h.isolation("isolation: {firewall: off}")
	var log bytes.Buffer
	ctx, cancel = context.WithCancel(t.Context())
	opts.Serving = func(net.Addr) { cancel() }
	if err := backendd.Run(ctx, opts, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Fatal(err)
	}
	if len(h.node.dropped) != 1 || h.node.dropped[0] != name || !strings.Contains(log.String(), "isolation.firewall is off") {
		t.Errorf("%v was taken away, of %s; the log is %s", h.node.dropped, name, log.String())
	}
}

func TestAnEngineThatIsElsewhereHasNoFirewall(t *testing.T) {
	h := newHouse(t)
	text, err := os.ReadFile(h.opts.ConfigFile)
	if err != nil {
		t.Fatal(err)
	}
	for engine, refused := range map[string]bool{"tcp://192.0.2.1:2375": true, "tcp://127.0.0.1:9": false, "tcp://localhost:9": false} {
		h.write("backend.yaml", strings.Replace(string(text), "docker: unix://"+h.dir+"/no-engine.sock", "docker: "+engine, 1))
		ctx, cancel := context.WithCancel(t.Context())
		opts := h.opts
		opts.Serving = func(net.Addr) { cancel() }
		err := backendd.Run(ctx, opts, slog.New(slog.DiscardHandler))
		cancel()
		if refused != (err != nil && strings.Contains(err.Error(), "not on this machine")) {
			t.Errorf("%s: %v", engine, err)
		}
	}
}

func TestTheFirewallAloneCanBeSetUp(t *testing.T) {
	h := newHouse(t)
	h.opts.FirewallOnly = true
	if err := backendd.Run(t.Context(), h.opts, slog.New(slog.DiscardHandler)); err != nil || h.node.sets != 1 {
		t.Errorf("it was set up %d times: %v", h.node.sets, err)
	}
}

func TestAFirewallThatSomebodyChangedIsPutRightAndCounted(t *testing.T) {
	h := newHouse(t)
	url, _ := h.start()
	h.node.mu.Lock()
	h.node.stands = nil
	h.node.mu.Unlock()
	get(t, url+"/health")
	h.node.mu.Lock()
	stands := h.node.stands
	h.node.mu.Unlock()
	if stands == nil {
		t.Error("it is still away")
	}
	if _, body := get(t, url+"/metrics"); !strings.Contains(body, "berth_backend_firewall_repairs_total 1") {
		t.Error("it was not counted")
	}
}

func TestABackendWithoutItsFirewallIsNotHealthy(t *testing.T) {
	h := newHouse(t)
	h.node.fails = nil
	url, _ := h.start()
	h.node.mu.Lock()
	h.node.fails = errors.New("the kernel says no")
	h.node.mu.Unlock()
	if code, body := get(t, url+"/health"); code != http.StatusServiceUnavailable || strings.Contains(body, "kernel") {
		t.Errorf("%d %s", code, body)
	}
}
