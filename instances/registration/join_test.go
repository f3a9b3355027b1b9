package registration_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/registration"
	"github.com/berth-cloud/berth/instances/wire"
)

// host is one that was there before, and joins.
type host struct {
	p    *place
	dir  string
	addr string // where the registration address leads
}

func (p *place) host() *host {
	return &host{p: p, dir: filepath.Join(p.t.TempDir(), "agent"), addr: p.addr}
}

func (h *host) config() agent.Config {
	return agent.Config{
		Dir: h.dir, BootID: "boot", Now: h.p.clock.Now, EngineSocket: filepath.Join(h.dir, "none.sock"),
		Facts: func() wire.Facts { return wire.Facts{Hostname: "attic-1"} }, Metrics: func() wire.Metrics { return wire.Metrics{} },
		Log: slog.New(slog.NewTextHandler(h.p.log, nil)), Timing: agent.Timing{Connect: 10 * time.Second},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address != "10.0.0.5:8992" {
				return nil, errors.New("there is no hub in this test")
			}
			return new(net.Dialer).DialContext(ctx, network, h.addr)
		},
	}
}

func (h *host) join(token string) (*agent.Joined, error) {
	return agent.Join(h.p.t.Context(), h.config(), token)
}

// files are those in the agent's folder, but for its lock.
func (h *host) files() []string {
	h.p.t.Helper()
	entries, err := os.ReadDir(h.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.p.t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		info, err := e.Info()
		must(h.p.t, err)
		if info.Mode().Perm() != 0o600 {
			h.p.t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
		if e.Name() != "lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func (p *place) mint(name string) *instances.JoinResponse {
	p.t.Helper()
	made, err := p.manager.JoinHost(p.t.Context(), instances.JoinRequest{Tenant: "acme", Name: name, Labels: map[string]string{"disk": "ssd"}})
	must(p.t, err)
	return made
}

func TestAHostJoinsByOneWord(t *testing.T) {
	p := newPlace(t)
	made, h := p.mint("attic"), p.host()
	joined, err := h.join(made.Token)
	must(t, err)
	if !joined.Registered || joined.InstanceID != made.InstanceID {
		t.Fatalf("%+v", joined)
	}
	if got := h.files(); !slices.Equal(got, []string{"bootstrap.json", "ca.crt", "identity.crt", "identity.key"}) {
		t.Fatalf("the folder has %v", got)
	}
	info, err := os.Stat(h.dir)
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v", info.Mode())
	}
	status, err := p.manager.GetInstanceStatusFor(t.Context(), "acme", made.InstanceID)
	must(t, err)
	if status.State != instances.StateRegistered || status.Status != "running" || status.Hostname != "attic-1" || status.Tags["disk"] != "ssd" ||
		status.Tags[instances.TagName] != "attic" || status.Group != instances.JoinedGroup {
		t.Fatalf("status %+v", status)
	}
	again, err := h.join(made.Token) // whoever is not sure that it worked
	must(t, err)
	if !again.Registered {
		t.Fatalf("%+v", again)
	}
	registered, err := wire.ParseJoinToken(made.Token)
	must(t, err)
	for _, secret := range []string{made.Token, registered.Token} {
		if strings.Contains(p.log.String(), secret) {
			t.Error("the log has the token")
		}
	}
}

func TestATokenIsGoodForOneHost(t *testing.T) {
	p := newPlace(t)
	made, first, second := p.mint("attic"), p.host(), p.host()
	_, err := first.join(made.Token)
	must(t, err)
	if _, err := second.join(made.Token); err == nil || !strings.Contains(err.Error(), wire.CodeTokenUsed) {
		t.Fatalf("the second host: %v", err)
	}
	if got := second.files(); len(got) != 0 {
		t.Errorf("the refused host keeps %v", got)
	}
	other := p.mint("cellar")
	_, err = second.join(other.Token) // which is not in the way of another one
	must(t, err)
	if _, err := first.join(other.Token); !errors.Is(err, agent.ErrOtherIdentity) {
		t.Fatalf("a host that is another node: %v", err)
	}
}

func TestATokenEnds(t *testing.T) {
	p := newPlace(t)
	made, h := p.mint("attic"), p.host()
	p.clock.Advance(instances.DefaultJoinLife + 10*time.Minute)
	if _, err := h.join(made.Token); err == nil || !strings.Contains(err.Error(), wire.CodeTokenExpired) || len(h.files()) > 0 {
		t.Fatalf("%v, and the folder has %v", err, h.files())
	}
	removed := p.mint("cellar")
	must(t, p.manager.DeleteInstanceFor(t.Context(), "acme", removed.InstanceID))
	if _, err := h.join(removed.Token); err == nil || !strings.Contains(err.Error(), wire.CodeInstanceDeleted) {
		t.Fatalf("a token that was taken back: %v", err)
	}
}

func TestAHostThatWasKilledWhileItJoinedGoesOn(t *testing.T) {
	for _, left := range [][]string{
		{"ca.crt"}, {"ca.crt", "nonce.jwt"}, {"ca.crt", "nonce.jwt", "bootstrap.json"}, {"ca.crt", "nonce.jwt", "bootstrap.json", "identity.key"},
	} {
		p := newPlace(t)
		made, h := p.mint("attic"), p.host()
		_, err := h.join(made.Token)
		must(t, err)
		registered, err := wire.ParseJoinToken(made.Token)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(h.dir, "nonce.jwt"), []byte(registered.Token), 0o600))
		if !slices.Contains(left, "identity.key") { // it had not registered: nobody has the token
			p = newPlace(t)
			made = p.mint("attic")
			kept := h.dir
			h = p.host()
			must(t, os.CopyFS(h.dir, os.DirFS(kept)))
			boot, err := os.ReadFile(filepath.Join(h.dir, "bootstrap.json"))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(h.dir, "bootstrap.json"), []byte(strings.ReplaceAll(string(boot), registered.InstanceID, made.InstanceID)), 0o600))
		}
		for _, name := range []string{"bootstrap.json", "ca.crt", "nonce.jwt", "identity.key", "identity.crt"} {
			if !slices.Contains(left, name) {
				must(t, os.Remove(filepath.Join(h.dir, name)))
			}
		}
		joined, err := h.join(made.Token)
		if err != nil || !joined.Registered {
			t.Errorf("with %v: %+v, %v", left, joined, err)
		}
	}
}

func TestAFolderOfSomebodyElseIsLeftAlone(t *testing.T) {
	p := newPlace(t)
	made := p.mint("attic")
	for name, text := range map[string]string{
		"identity.key":   "a key",
		"identity.crt":   "a certificate",
		"bootstrap.json": `{"cluster_id":"prod","shard":"one","instance_id":"other","registration_addr":"a:1","agent_addr":"a:2","ingress_addr":""}`,
	} {
		h := p.host()
		must(t, os.MkdirAll(h.dir, 0o700))
		must(t, os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600))
		if _, err := h.join(made.Token); !errors.Is(err, agent.ErrOtherIdentity) {
			t.Errorf("%s: %v", name, err)
		}
		if got := h.files(); !slices.Equal(got, []string{name}) {
			t.Errorf("%s: the folder has %v", name, got)
		}
	}
	h := p.host()
	must(t, os.MkdirAll(h.dir, 0o700))
	must(t, os.WriteFile(filepath.Join(h.dir, "bootstrap.json"), []byte("{"), 0o600))
	if _, err := h.join(made.Token); err == nil {
		t.Error("a bootstrap that cannot be read was written over")
	}
}

// stranger is a server that is not of the cluster, and keeps what it is told.
func stranger(t *testing.T, cert tls.Certificate) (addr string, heard func() (bytes int, certificates int)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	n, certs := 0, 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		raw, err := l.Accept()
		if err != nil {
			return
		}
		defer raw.Close()
		c := tls.Server(raw, &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequestClientCert})
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		data, _ := io.ReadAll(c)
		n, certs = len(data), len(c.ConnectionState().PeerCertificates)
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String(), func() (int, int) { <-done; return n, certs }
}

func TestWhoeverIsNotOfTheClusterIsToldNothing(t *testing.T) {
	p := newPlace(t)
	made := p.mint("attic")
	// The clocks of both say the same, so that time is not what tells them apart.
	foreign := newPlace(t)
	leaf := func() tls.Certificate { return *foreign.certificate(serverRequest("10.0.0.5"), newKey(t)) }
	withCA := func(c tls.Certificate, ders ...[]byte) tls.Certificate {
		c.Certificate = append(slices.Clone(c.Certificate), ders...)
		return c
	}
	own, theirs := pair(t, p.authority.CAPEM(), nil).Certificate[0], pair(t, foreign.authority.CAPEM(), nil).Certificate[0]
	for name, cert := range map[string]tls.Certificate{
		"another authority":                     withCA(leaf(), theirs),
		"no authority":                          leaf(),
		"ours shown, and not the signer":        withCA(leaf(), own),
		"ours shown beside the signer":          withCA(leaf(), theirs, own),
		"an agent of ours as a server":          withCA(*p.certificate(agentRequest(made.InstanceID), newKey(t)), own),
		"a server of ours under another's name": withCA(*p.certificate(serverRequest("10.0.0.6"), newKey(t)), own),
	} {
		h := p.host()
		addr, heard := stranger(t, cert)
		h.addr = addr
		_, err := h.join(made.Token)
		if !errors.Is(err, wire.ErrAuthority) {
			t.Errorf("%s: %v", name, err)
		}
		if n, certs := heard(); n != 0 || certs != 0 {
			t.Errorf("%s was told %d bytes and shown %d certificates", name, n, certs)
		}
		if got := h.files(); len(got) != 0 {
			t.Errorf("%s: the folder has %v", name, got)
		}
	}
	// Nothing of this has used the token up.
	_, err := p.host().join(made.Token)
	must(t, err)
}

func TestATokenOfTwoAuthoritiesOutlivesTheRotation(t *testing.T) {
	p := newPlace(t)
	must(t, p.authority.Rotate(t.Context()))
	made := p.mint("attic")
	token, err := wire.ParseJoinToken(made.Token)
	must(t, err)
	if len(token.Authorities) != 2 {
		t.Fatalf("%d authorities during a rotation", len(token.Authorities))
	}
	h := p.host()
	_, err = h.join(made.Token)
	must(t, err)
	both, err := os.ReadFile(filepath.Join(h.dir, "ca.crt"))
	must(t, err)
	if string(both) != string(p.authority.CAPEM()) {
		t.Error("the host does not know both authorities")
	}
}

func TestAControlPlaneThatIsAwayLeavesAHostThatGoesOn(t *testing.T) {
	away := errors.New("the store is away")
	p := newPlace(t, func(o *registration.Options) { o.Registrar = failing{o.Registrar, away} })
	made, h := p.mint("attic"), p.host()
	joined, err := h.join(made.Token)
	must(t, err)
	if joined.Registered || joined.Why == nil {
		t.Fatalf("%+v", joined)
	}
	if got := h.files(); !slices.Equal(got, []string{"bootstrap.json", "ca.crt", "identity.key", "nonce.jwt"}) {
		t.Fatalf("the folder has %v", got)
	}
}

// failing is a registrar whose store is away.
type failing struct {
	registration.Registrar
	err error
}

func (f failing) Register(context.Context, instances.RegisterRequest) (*instances.Registration, error) {
	return nil, f.err
}

func agentRequest(instanceID string) ca.Request {
	return ca.Request{Role: wire.RoleAgent, Name: instanceID, Tenant: "acme"}
}

func serverRequest(host string) ca.Request {
	return ca.Request{Role: wire.RoleServer, Name: "server", Hosts: []string{host}}
}
