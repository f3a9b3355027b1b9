package backendd_test

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/internal/daemon"
	"github.com/berth-cloud/berth/internal/daemon/backendd"
	"github.com/berth-cloud/berth/internal/node"
	"github.com/berth-cloud/berth/internal/store"
)

// fails starts a backend that is not to start.
func (h *house) fails(is error, says ...string) {
	h.t.Helper()
	err := backendd.Run(h.t.Context(), h.opts, slog.New(slog.DiscardHandler))
	if err == nil || is != nil && !errors.Is(err, is) {
		h.t.Errorf("%v, want %v", err, is)
		return
	}
	for _, word := range says {
		if !strings.Contains(err.Error(), word) {
			h.t.Errorf("%v\ndoes not say %q", err, word)
		}
	}
}

// taken has somebody else listen where the backend is to.
func (h *house) taken() (free func()) {
	h.t.Helper()
	l, err := (&net.ListenConfig{}).Listen(h.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = l.Close() })
	h.replace("listen: 127.0.0.1:0", "listen: "+l.Addr().String())
	return func() {
		_ = l.Close()
		h.replace("listen: "+l.Addr().String(), "listen: 127.0.0.1:0")
	}
}

func (h *house) replace(old, now string) {
	h.t.Helper()
	text, err := os.ReadFile(h.opts.ConfigFile)
	if err != nil || !strings.Contains(string(text), old) {
		h.t.Fatalf("%q is not in the settings: %v", old, err)
	}
	h.write("backend.yaml", strings.Replace(string(text), old, now, 1))
}

func TestAStartThatFailsLeavesNoFirewallBehind(t *testing.T) {
	h := newHouse(t)
	h.taken()
	h.fails(nil, "listen: cannot listen on 127.0.0.1:", "address already in use", "write another port for listen")
	if h.node.sets != 0 || h.node.stands != nil {
		t.Errorf("the firewall was set %d times", h.node.sets)
	}
}

func TestAStartThatFailsLeavesNoLeaseWithoutAFirewall(t *testing.T) {
	h := newHouse(t)
	url, stop := h.start()
	if err := h.client(url, secret).Provision(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	h.node.stands = nil // as the machine was started anew
	free := h.taken()
	h.fails(nil, "listen: cannot listen on")
	if h.node.stands == nil || len(h.node.dropped) != 0 {
		t.Errorf("the lease may run without: %v, %v was taken away", h.node.stands, h.node.dropped)
	}
	free()
	h.start()
}

func TestNetworksOfABackendThatRunsAreNotTakenTwice(t *testing.T) {
	h := newHouse(t)
	_, stop := h.start()
	other := newHouse(t)
	other.opts.Place = h.opts.Place
	other.replace(other.dir+"/no-engine.sock", h.dir+"/no-engine.sock")
	other.fails(daemon.ErrNeighbour, "network_pool 10.214.0.0/16 overlaps its", "network_prefix berth-backend", h.opts.DataDir)
	if other.node.sets != 0 {
		t.Error("its firewall was set")
	}
	other.isolation("network_pool: 10.215.0.0/16\nnetwork_prefix: others")
	_, stopOther := other.start()
	if err := errors.Join(stop(), stopOther()); err != nil {
		t.Fatal(err)
	}
	h.start() // and a third time, with all as it was
	_, stopOther = other.start()
	if err := stopOther(); err != nil {
		t.Fatal(err)
	}
	// What it served with is not what it has now.
	other.replace("10.215.0.0/16", "10.214.128.0/17")
	other.fails(daemon.ErrNeighbour, "10.214.128.0/17 overlaps its 10.214.0.0/16")
}

func TestABackendThatServedIsNotKeptFromItsLeases(t *testing.T) {
	h, other := newHouse(t), newHouse(t)
	_, stop := h.start()
	other.start() // elsewhere, as it is seen from there
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	h.opts.Place = other.opts.Place
	url, _ := h.start()
	if _, body := get(t, url+"/health"); !strings.Contains(body, "another backend on this machine has networks of this one") {
		t.Errorf("the health does not say it: %s", body)
	}
}

func TestTheFirewallOfABackendThatDoesNotRunIsHeeded(t *testing.T) {
	h := newHouse(t)
	h.node.others = []node.Standing{{Name: "abcdef", First: netip.MustParseAddr("10.214.0.0"), Last: netip.MustParseAddr("10.214.255.255")}}
	h.fails(daemon.ErrNeighbour, "network_pool 10.214.0.0/16 overlaps 10.214.0.0 to 10.214.255.255", "nft delete table inet berth-abcdef")
	h.opts.FirewallOnly = true
	h.fails(daemon.ErrNeighbour)
	if h.node.sets != 0 {
		t.Error("its own was set")
	}
	h.opts.FirewallOnly = false
	h.isolation("network_pool: 10.215.0.0/16")
	_, stop := h.start()
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	// Its own is no other's.
	h.node.others = []node.Standing{{Name: h.node.stands.Name, First: netip.MustParseAddr("10.215.0.0"), Last: netip.MustParseAddr("10.215.255.255")}}
	h.start()
}

func TestADataDirectoryOfAServerIsNotABackends(t *testing.T) {
	h := newHouse(t)
	h.start()
	cfg := daemon.Defaults()
	cfg.DataDir, cfg.Socket, cfg.ExternalIngress = h.opts.DataDir, filepath.Join(h.dir, "berth.sock"), true
	if err := daemon.Run(t.Context(), cfg, slog.New(slog.DiscardHandler)); !errors.Is(err, daemon.ErrRole) || !strings.Contains(err.Error(), "belongs to berthd backend") {
		t.Errorf("a server on it: %v", err)
	}
	other := newHouse(t)
	if err := os.Mkdir(other.opts.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(other.opts.DataDir, "berthd.role"), []byte("server\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other.fails(daemon.ErrRole, "belongs to berthd server", "--data-dir")
	if all, err := os.ReadDir(other.opts.DataDir); err != nil || len(all) != 1 {
		t.Errorf("something was made in it: %v, %v", all, err)
	}
}

func TestTheFirewallAloneNeedsTheDataDirectory(t *testing.T) {
	h := newHouse(t)
	h.start()
	h.opts.FirewallOnly = true
	h.fails(store.ErrLocked, "--firewall-only needs the data directory for itself", "keeps its firewall by itself", "stop it")
}

func TestASocketWhoseFolderIsMissingIsSaid(t *testing.T) {
	h := newHouse(t)
	h.opts.Socket = filepath.Join(h.dir, rand.Text(), "s")
	h.fails(nil, filepath.Dir(h.opts.Socket), "does not exist", "mkdir -p")
	if h.node.sets != 0 {
		t.Error("the firewall was set")
	}
}
