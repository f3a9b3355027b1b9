package agent_test

import (
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const machine = "vmx06bgm7733st2576nx5jht4ecjw"

// registrar is a small server of registrations, which remembers who asked.
type registrar struct {
	t    testing.TB
	ca   *wiretest.CA
	addr string

	mu      sync.Mutex
	life    time.Duration
	keys    []ed25519.PublicKey // of every registration
	renewed int
	proven  bool
	// answer, when it is set, is given in place of a registration.
	answer func(w http.ResponseWriter) bool
	issue  func(key ed25519.PublicKey) tls.Certificate
}

func newRegistrar(t testing.TB, ca *wiretest.CA, role wire.Role) *registrar {
	t.Helper()
	r := &registrar{t: t, ca: ca, life: time.Hour}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+wire.RegisterPath, r.register)
	mux.HandleFunc("POST "+wire.RenewPath, r.renew)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	s := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0), TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{ca.Issue(t, wiretest.Leaf{Role: role, Name: "berth", Life: 100 * time.Hour})}, ClientAuth: tls.RequestClientCert,
	}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.ServeTLS(l, "", "")
	}()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return r
}

func (r *registrar) register(w http.ResponseWriter, req *http.Request) {
	var m wire.RegisterRequest
	if err := json.NewDecoder(io.LimitReader(req.Body, wire.MaxBody)).Decode(&m); err != nil {
		r.t.Error(err)
	}
	block, _ := pem.Decode([]byte(m.PublicKeyPEM))
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		r.t.Error(err)
	}
	key := public.(ed25519.PublicKey)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = append(r.keys, key)
	r.proven = wire.Proven(key, m.Token, *req.TLS, m.Proof) && m.Token == "token" && m.PrivateIPv4 == "127.0.0.1"
	r.reply(w, key)
}

func (r *registrar) renew(w http.ResponseWriter, req *http.Request) {
	if len(req.TLS.PeerCertificates) == 0 {
		r.t.Error("a renewal without a certificate")
		return
	}
	key := req.TLS.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.renewed++
	r.reply(w, key)
}

func (r *registrar) reply(w http.ResponseWriter, key ed25519.PublicKey) {
	if r.answer != nil && r.answer(w) {
		return
	}
	cert := wiretestIssue(r.t, r.ca, key, r.life)
	if r.issue != nil {
		cert = r.issue(key)
	}
	_ = json.NewEncoder(w).Encode(wire.Registration{
		InstanceID: machine, CertificatePEM: string(wiretest.CertPEM(cert)), CAPEM: string(r.ca.PEM()), ExpiresAt: cert.Leaf.NotAfter,
	})
}

// wiretestIssue makes a certificate for a key that is held elsewhere.
func wiretestIssue(t testing.TB, ca *wiretest.CA, key ed25519.PublicKey, life time.Duration) tls.Certificate {
	return ca.Issue(t, wiretest.Leaf{Role: wire.RoleAgent, Name: machine, Tenants: []string{"acme"}, Public: key, Life: life})
}

func (r *registrar) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// rig is an agent that is not registered, and what it is to find.
type rig struct {
	testing.TB
	ca  *wiretest.CA
	reg *registrar
	dir string
	log *lines
	cfg agent.Config
}

func newRig(t testing.TB, m wiretest.Machine) *rig {
	t.Helper()
	r := &rig{TB: t, ca: wiretest.NewCA(t), log: &lines{}}
	r.reg = newRegistrar(t, r.ca, wire.RoleServer)
	m.Instance, m.Registration = machine, r.reg.addr
	if m.Agent == "" {
		m.Agent = "127.0.0.1:1"
	}
	r.dir = wiretest.Folder(t, r.ca, m)
	r.cfg = agent.Config{
		Dir: r.dir, BootID: "boot", Log: slog.New(slog.NewTextHandler(r.log, nil)), EngineSocket: "/none",
		Timing: agent.Timing{Heartbeat: 50 * time.Millisecond, RetryMin: 5 * time.Millisecond, RetryMax: 20 * time.Millisecond, RetrySlow: 20 * time.Millisecond},
	}
	return r
}

// run starts the agent; stop is called in the end as well.
func (r *rig) run() (stop func()) {
	r.Helper()
	return wiretest.RunAgent(r, r.cfg)
}

// until waits for something to be so.
func (r *rig) until(what string, so func() bool) {
	r.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-limit.C:
			r.Fatalf("never: %s\n%s", what, r.log)
		}
	}
}

func (r *rig) has(name string) bool {
	_, err := os.Stat(filepath.Join(r.dir, name))
	return err == nil
}

func (r *rig) file(name string) string {
	r.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.Fatal(err)
	}
	return string(data)
}

func (r *rig) put(name, text string) {
	r.Helper()
	path := filepath.Join(r.dir, name)
	if err := errors.Join(os.WriteFile(path+".put", []byte(text), 0o600), os.Rename(path+".put", path)); err != nil {
		r.Fatal(err)
	}
}

type lines = wiretest.Log
