package registration_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/instances/registration"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
)

const configText = `{
  "cluster": {"id": "prod"},
  "shard": {"name": "one", "provider": {"kind": "fake"}, "server": {"registration_addr": "10.0.0.5:8992", "agent_addr": "10.0.0.5:8994"}},
  "templates": {"small": {"kind": "wrk", "arch": "amd64", "userdata": {"content": "{{ .Nonce }}"}}},
  "groups": {"acme": {"web": {"template": "small"}}},
}`

type textSource string

func (s textSource) Read(context.Context) ([]byte, string, error) { return []byte(s), "1", nil }

type buffer = wiretest.Log

// place is a shard with a server of registrations that listens on loopback.
type place struct {
	t         *testing.T
	clock     *fake.Clock
	cloud     *fake.Cloud
	manager   *instances.Manager
	authority *ca.Authority
	secrets   secrets.Store
	addr      string
	log       *buffer
	server    *http.Server
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newPlace(t *testing.T, change ...func(*registration.Options)) *place {
	t.Helper()
	ctx := t.Context()
	clock := fake.NewClock(time.Time{})
	p := &place{t: t, clock: clock, cloud: fake.NewCloud(fake.Options{Now: clock.Now}), secrets: secrets.NewMemory(), log: &buffer{}}
	must(t, instances.EnsureNonceKey(ctx, p.secrets))
	objects := storage.NewMemory()
	var err error
	p.authority, err = ca.Open(ctx, ca.Options{Storage: objects, Secrets: p.secrets, ClusterID: "prod", Now: clock.Now})
	must(t, err)
	db, err := localdb.Open(ctx, filepath.Join(t.TempDir(), "cache.db"))
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	loader, err := config.NewLoader(config.LoaderOptions{Source: textSource(configText)})
	must(t, err)
	must(t, loader.Refresh(ctx))
	logger := slog.New(slog.NewJSONHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p.manager, err = instances.NewManager(instances.ManagerOptions{
		ConfigLoader: loader, SecretsStore: p.secrets, Storage: objects, LocalDB: db, Authority: p.authority,
		Provider: p.cloud.Provider(infra.Owner{ClusterID: "prod", Shard: "one"}), Clock: clock.Now,
		IDs: &id.Generator{Now: clock.Now}, Logger: logger,
	})
	must(t, err)
	opts := registration.Options{Registrar: p.manager, Verifier: p.authority, Logger: logger, Now: clock.Now, Burst: 1000}
	for _, one := range change {
		one(&opts)
	}
	handler, err := registration.New(opts)
	must(t, err)
	ownKey := newKey(t)
	p.server, err = registration.NewServer(registration.ServerOptions{
		Handler: handler, Now: clock.Now, Logger: logger,
		Certificate: func() (*tls.Certificate, error) {
			cert, err := p.authority.Issue(ca.Request{Role: wire.RoleServer, Name: "server", Hosts: []string{"127.0.0.1", "10.0.0.5"}, PublicKey: publicOf(ownKey)})
			if err != nil {
				return nil, err
			}
			return pair(t, cert.PEM, ownKey), nil
		},
	})
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p.addr = listener.Addr().String()
	done := make(chan struct{})
	go func() { defer close(done); _ = p.server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = p.server.Close(); <-done })
	return p
}

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	return key
}

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey {
	p, _ := key.Public().(ed25519.PublicKey)
	return p
}

func publicPEM(t testing.TB, key ed25519.PrivateKey) string {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	must(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
}

// certificate signs one and puts its key beside it.
func (p *place) certificate(r ca.Request, key ed25519.PrivateKey) *tls.Certificate {
	p.t.Helper()
	r.PublicKey = publicOf(key)
	cert, err := p.authority.Issue(r)
	must(p.t, err)
	return pair(p.t, cert.PEM, key)
}

func pair(t testing.TB, certPEM []byte, key ed25519.PrivateKey) *tls.Certificate {
	t.Helper()
	block, _ := pem.Decode(certPEM)
	leaf, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key, Leaf: leaf}
}

func (p *place) dial(cert *tls.Certificate) *tls.Conn {
	p.t.Helper()
	peer := wire.Peer{Roots: p.authority.Pool, Role: wire.RoleServer, Now: p.clock.Now}
	if cert != nil {
		peer.Certificate = func() (*tls.Certificate, error) { return cert, nil }
	}
	conf := peer.Client("127.0.0.1")
	conn, err := (&tls.Dialer{Config: conf}).DialContext(p.t.Context(), "tcp", p.addr)
	must(p.t, err)
	c, _ := conn.(*tls.Conn)
	p.t.Cleanup(func() { _ = c.Close() })
	must(p.t, c.SetDeadline(time.Now().Add(20*time.Second)))
	return c
}

type reply struct {
	status int
	good   wire.Registration
	bad    wire.Problem
	body   string
}

// send posts a body over a connection.
func (p *place) send(c *tls.Conn, path string, body []byte) reply {
	p.t.Helper()
	client := &http.Client{Transport: &http.Transport{
		DialTLSContext:    func(context.Context, string, string) (net.Conn, error) { return c, nil },
		DisableKeepAlives: true,
	}}
	res, err := client.Post("https://"+p.addr+path, "application/json", bytes.NewReader(body))
	must(p.t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	must(p.t, err)
	r := reply{status: res.StatusCode, body: string(data)}
	if res.StatusCode == http.StatusOK {
		must(p.t, json.Unmarshal(data, &r.good))
	} else {
		_ = json.Unmarshal(data, &r.bad)
	}
	return r
}

func (p *place) register(token string, key ed25519.PrivateKey, change ...func(*wire.RegisterRequest)) reply {
	p.t.Helper()
	c := p.dial(nil)
	proof, err := wire.Prove(key, token, c.ConnectionState())
	must(p.t, err)
	req := wire.RegisterRequest{Token: token, PublicKeyPEM: publicPEM(p.t, key), Proof: proof, PrivateIPv4: "10.1.1.1", Hostname: "web"}
	for _, one := range change {
		one(&req)
	}
	body, err := json.Marshal(req)
	must(p.t, err)
	return p.send(c, wire.RegisterPath, body)
}

func (p *place) create() *instances.CreateInstanceResponse {
	p.t.Helper()
	made, err := p.manager.CreateInstance(p.t.Context(), instances.CreateInstanceRequest{Tenant: "acme", Group: "web"})
	must(p.t, err)
	return made
}

func TestAnAgentRegistersAndRenewsOverTLS(t *testing.T) {
	p := newPlace(t)
	made, key := p.create(), newKey(t)
	got := p.register(made.RegistrationJWT, key)
	if got.status != http.StatusOK || got.good.InstanceID != made.InstanceID {
		t.Fatalf("%+v", got)
	}
	cert := pair(t, []byte(got.good.CertificatePEM), key)
	who, err := p.authority.Verify(cert.Leaf, x509.ExtKeyUsageClientAuth)
	must(t, err)
	if who.Role != wire.RoleAgent || who.InstanceID != made.InstanceID || who.Tenant != "acme" {
		t.Fatalf("certificate of %+v", who)
	}
	if !cert.Leaf.NotBefore.Before(p.clock.Now().Add(-time.Minute)) {
		t.Fatal("a machine whose clock is behind could not use its certificate")
	}
	p.clock.Advance(16 * time.Hour)
	renewed := p.send(p.dial(cert), wire.RenewPath, []byte("{}"))
	if renewed.status != http.StatusOK || renewed.good.ExpiresAt.Before(cert.Leaf.NotAfter) {
		t.Fatalf("%+v", renewed)
	}
	next := pair(t, []byte(renewed.good.CertificatePEM), key)
	must(t, p.manager.DeleteInstanceFor(t.Context(), "acme", made.InstanceID))
	for _, one := range []*tls.Certificate{cert, next} {
		if r := p.send(p.dial(one), wire.RenewPath, []byte("{}")); r.bad.Code != wire.CodeInstanceDeleted {
			t.Fatalf("after the delete: %+v", r)
		}
	}
	if strings.Contains(p.log.String(), made.RegistrationJWT) {
		t.Fatal("the log has the token")
	}
}
