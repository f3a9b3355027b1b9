package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
)

// listing is an engine that lists containers, and notes whatever else it is asked.
type listing struct {
	socket string
	mu     sync.Mutex
	away   bool
	asked  []string
	all    []map[string]any
}

func container(state, network, address string, labels map[string]string) map[string]any {
	return map[string]any{"State": state, "Labels": labels, "NetworkSettings": map[string]any{
		"Networks": map[string]any{network: map[string]any{"NetworkID": network, "IPAddress": address}},
	}}
}

func newListing(t *testing.T, all ...map[string]any) *listing {
	t.Helper()
	l := &listing{socket: filepath.Join(t.TempDir(), "e.sock"), all: all}
	s := &http.Server{Handler: l, ReadHeaderTimeout: time.Minute}
	ln, err := net.Listen("unix", l.socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(ln)
	}()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return l
}

func (l *listing) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, req.Method+" "+req.URL.Path)
	if l.away {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	switch req.URL.Path {
	case "/networks":
		_ = json.NewEncoder(w).Encode([]map[string]string{{"Id": "bridge", "Driver": "bridge"}, {"Id": "lan", "Driver": "macvlan"}})
	case "/containers/json":
		_ = json.NewEncoder(w).Encode(l.all)
	}
}

// plane is a hub with a rig's agent on it.
func plane(t *testing.T, ca *wiretest.CA, role wire.Role, timing hub.Timing) (*hub.Hub, string) {
	t.Helper()
	h, err := hub.New(hub.Options{Certificate: wiretest.Held(ca.Server(t, role)), Roots: ca.Roots(), Timing: timing})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Serve(ctx, l)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return h, l.Addr().String()
}

// ends are an agent with both controls, registered already.
func ends(t *testing.T, engine string) (r *rig, server, ingress *hub.Hub) {
	t.Helper()
	r = newRig(t, wiretest.Machine{})
	server, serverAddr := plane(t, r.ca, wire.RoleServer, hub.Timing{})
	ingress, ingressAddr := plane(t, r.ca, wire.RoleIngress, hub.Timing{})
	cert := r.ca.Agent(t, machine)
	r.dir = wiretest.Folder(t, r.ca, wiretest.Machine{Instance: machine, Registration: r.reg.addr, Agent: serverAddr, Ingress: ingressAddr, Cert: &cert})
	r.cfg.Dir, r.cfg.EngineSocket = r.dir, engine
	r.run()
	r.until("both controls", func() bool { return server.Online(machine) && ingress.Online(machine) })
	return r, server, ingress
}

func TestTheDataPlaneMayDialAppsAndNothingElse(t *testing.T) {
	own := firstAddress(t)
	berth := map[string]string{"berth.instance": "i"}
	e := newListing(t,
		container("running", "bridge", "192.0.2.10", berth), // TEST-NET: nobody is there
		container("running", "bridge", "192.0.2.11", map[string]string{"other": "x"}),
		container("exited", "bridge", "192.0.2.12", berth),
		container("running", "lan", "192.0.2.13", berth),
		container("running", "bridge", "127.0.0.1", berth),
		container("running", "bridge", "169.254.169.254", berth),
		container("running", "bridge", own, berth),
	)
	r, server, ingress := ends(t, e.socket)
	r.cfg.Log.Info("begin")
	for name, tc := range map[string]struct {
		kind    wire.Kind
		address string
	}{
		"the engine":            {wire.KindEngine, ""},
		"the host":              {wire.KindHost, ""},
		"loopback":              {wire.KindAddress, "127.0.0.1:22"},
		"loopback of IPv6":      {wire.KindAddress, "[::1]:22"},
		"loopback in IPv6":      {wire.KindAddress, "[::ffff:127.0.0.1]:22"},
		"anything":              {wire.KindAddress, "0.0.0.0:22"},
		"metadata":              {wire.KindAddress, "169.254.169.254:80"},
		"many":                  {wire.KindAddress, "224.0.0.1:80"},
		"an address of its own": {wire.KindAddress, net.JoinHostPort(own, "22")},
		"not Berth's":           {wire.KindAddress, "192.0.2.11:80"},
		"one that ended":        {wire.KindAddress, "192.0.2.12:80"},
		"not on a bridge":       {wire.KindAddress, "192.0.2.13:80"},
		"nobody":                {wire.KindAddress, "192.0.2.200:80"},
		"a zone":                {wire.KindAddress, "[fe80::1%lo]:80"},
	} {
		c, err := ingress.Dial(t.Context(), machine, tc.kind, tc.address)
		if !errors.Is(err, hub.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
		if c != nil {
			c.Close()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	// It is tried: nobody answers there, in time or with an error.
	if _, err := ingress.Dial(ctx, machine, wire.KindAddress, "192.0.2.10:80"); errors.Is(err, hub.ErrRefused) {
		t.Errorf("an app: %v", err)
	}
	// The server's control has the engine, and it is the one on the socket.
	c, err := server.Dial(t.Context(), machine, wire.KindEngine, "")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "GET /mark HTTP/1.0\r\n\r\n")
	_, _ = io.ReadAll(c)
	c.Close()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, asked := range e.asked {
		if !slices.Contains([]string{"GET /networks", "GET /containers/json", "GET /mark"}, asked) {
			t.Errorf("the agent asked the engine %s", asked)
		}
	}
	if !slices.Contains(e.asked, "GET /mark") {
		t.Error("the server does not reach the engine")
	}
}

func TestAnAppIsReachedWhileTheEngineIsAwayAndANewOneAtOnce(t *testing.T) {
	berth := map[string]string{"berth.instance": "i"}
	e := newListing(t, container("running", "bridge", "192.0.2.10", berth))
	_, _, ingress := ends(t, e.socket)
	tried := func(address string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		c, err := ingress.Dial(ctx, machine, wire.KindAddress, address)
		if c != nil {
			c.Close()
		}
		return err
	}
	if err := tried("192.0.2.10:80"); errors.Is(err, hub.ErrRefused) {
		t.Fatal(err)
	}
	e.mu.Lock()
	e.all = append(e.all, container("running", "bridge", "192.0.2.20", berth))
	e.mu.Unlock()
	if err := tried("192.0.2.20:80"); errors.Is(err, hub.ErrRefused) {
		t.Errorf("a new one: %v", err)
	}
	e.mu.Lock()
	e.away = true
	e.mu.Unlock()
	if err := tried("192.0.2.200:80"); !errors.Is(err, hub.ErrUnreachable) || !strings.Contains(err.Error(), "engine") {
		t.Errorf("one that nobody knows: %v", err)
	}
	if err := tried("192.0.2.10:80"); errors.Is(err, hub.ErrRefused) || errors.Is(err, hub.ErrUnreachable) && strings.Contains(err.Error(), "ask the engine") {
		t.Errorf("one that was known: %v", err)
	}
}

// firstAddress is one of the machine's own, loopback aside.
func firstAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback")
	return ""
}
