package registration_test

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/ca"
	"github.com/berth-cloud/berth/instances/registration"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/wire"
)

// signer is one with the shard's own key, as if it had been stolen or misused.
func (p *place) signer() *instances.JWTSigner {
	p.t.Helper()
	return instances.NewJWTSigner(p.nonceKey())
}

func (p *place) nonceKey() ed25519.PrivateKey {
	p.t.Helper()
	value, err := p.secrets.Get(p.t.Context(), instances.NonceKeyName)
	must(p.t, err)
	block, _ := pem.Decode(value.Reveal())
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	must(p.t, err)
	key, _ := parsed.(ed25519.PrivateKey)
	return key
}

func TestATokenIsRefused(t *testing.T) {
	p := newPlace(t)
	made := p.create()
	params := func(change func(*instances.RegistrationNonceParams)) string {
		n := instances.RegistrationNonceParams{
			SubjectID: made.InstanceID, Kind: instances.TokenKindAgent, ClusterID: "prod", Shard: "one", Group: "web",
			Tenant: "acme", Expiry: time.Hour, IssuedAt: p.clock.Now(),
		}
		change(&n)
		token, err := p.signer().GenerateRegistrationNonce(n)
		must(t, err)
		return token
	}
	sign := func(method jwt.SigningMethod, key any, change func(jwt.MapClaims)) string {
		claims := jwt.MapClaims{
			"iss": instances.Issuer, "sub": made.InstanceID, "kind": "agent", "cluster_id": "prod", "shard": "one", "tenant": "acme", "group": "web",
			"iat": p.clock.Now().Unix(), "nbf": p.clock.Now().Unix(), "exp": p.clock.Now().Add(time.Hour).Unix(),
		}
		change(claims)
		token, err := jwt.NewWithClaims(method, claims).SignedString(key)
		must(t, err)
		return token
	}
	other := newKey(t)
	tests := map[string]struct{ token, code string }{
		"nothing":            {"", wire.CodeTokenInvalid},
		"rubbish":            {"a.b.c", wire.CodeTokenInvalid},
		"a very long one":    {strings.Repeat("a", 20<<10), wire.CodeTokenInvalid},
		"another cluster":    {params(func(n *instances.RegistrationNonceParams) { n.ClusterID = "stage" }), wire.CodeTokenCluster},
		"another shard":      {params(func(n *instances.RegistrationNonceParams) { n.Shard = "two" }), wire.CodeTokenShard},
		"an operator's":      {params(func(n *instances.RegistrationNonceParams) { n.Kind = instances.TokenKindOperator }), wire.CodeTokenInvalid},
		"another tenant":     {params(func(n *instances.RegistrationNonceParams) { n.Tenant = "other" }), wire.CodeInstanceUnknown},
		"a tenant as a path": {params(func(n *instances.RegistrationNonceParams) { n.Tenant = "../acme" }), wire.CodeTokenInvalid},
		"not this record's":  {params(func(*instances.RegistrationNonceParams) {}), wire.CodeTokenInvalid},
		"a subject as a path": {
			sign(jwt.SigningMethodEdDSA, p.nonceKey(), func(c jwt.MapClaims) { c["sub"] = "../../x" }), wire.CodeTokenInvalid,
		},
		"another key":    {sign(jwt.SigningMethodEdDSA, other, func(jwt.MapClaims) {}), wire.CodeTokenInvalid},
		"without exp":    {sign(jwt.SigningMethodEdDSA, p.nonceKey(), func(c jwt.MapClaims) { delete(c, "exp") }), wire.CodeTokenInvalid},
		"another issuer": {sign(jwt.SigningMethodEdDSA, p.nonceKey(), func(c jwt.MapClaims) { c["iss"] = "x" }), wire.CodeTokenInvalid},
		"expired":        {sign(jwt.SigningMethodEdDSA, p.nonceKey(), func(c jwt.MapClaims) { c["exp"] = p.clock.Now().Add(-time.Minute).Unix() }), wire.CodeTokenExpired},
		"not yet":        {sign(jwt.SigningMethodEdDSA, p.nonceKey(), func(c jwt.MapClaims) { c["nbf"] = p.clock.Now().Add(time.Minute).Unix() }), wire.CodeTokenNotYetValid},
		"no signature":   {sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, func(jwt.MapClaims) {}), wire.CodeTokenInvalid},
		"the public key as a password": {
			sign(jwt.SigningMethodHS256, []byte(publicOf(p.nonceKey())), func(jwt.MapClaims) {}), wire.CodeTokenInvalid,
		},
		"with something behind": {made.RegistrationJWT + "A", wire.CodeTokenInvalid},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			key := newKey(t)
			r := p.register(test.token, key)
			if r.bad.Code != test.code {
				t.Fatalf("%d %s, want %s", r.status, r.body, test.code)
			}
			if len(test.token) > 20 && strings.Contains(r.body+p.log.String(), test.token) {
				t.Fatal("the token is repeated")
			}
		})
	}
	if r := p.register(made.RegistrationJWT, newKey(t)); r.status != http.StatusOK {
		t.Fatalf("the true one is refused after all that: %s", r.body)
	}
}

func TestClocksMayDifferByTheSkewAndNoMore(t *testing.T) {
	p := newPlace(t)
	made := p.create()
	p.clock.Advance(10*time.Minute + 55*time.Second) // launch and registration, and twice 30 s
	if r := p.register(made.RegistrationJWT, newKey(t)); r.status != http.StatusOK {
		t.Fatalf("within the skew: %s", r.body)
	}
	late := p.create()
	p.clock.Advance(11*time.Minute + time.Second)
	if r := p.register(late.RegistrationJWT, newKey(t)); r.bad.Code != wire.CodeTokenExpired {
		t.Fatalf("beyond the skew: %s", r.body)
	}
}

func TestATokenBelongsToTheFirstKeyAndTheLogSaysToWhich(t *testing.T) {
	p := newPlace(t)
	made, key := p.create(), newKey(t)
	if r := p.register(made.RegistrationJWT, key); r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	r := p.register(made.RegistrationJWT, newKey(t))
	if r.status != http.StatusConflict || r.bad.Code != wire.CodeTokenUsed {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if !strings.Contains(p.log.String(), `"holder":"sha256:`) || strings.Contains(r.body, "sha256") {
		t.Fatal("the log does not say who holds it, or the answer does")
	}
	if r := p.register(made.RegistrationJWT, key); r.status != http.StatusOK {
		t.Fatalf("its own key: %s", r.body)
	}
}

func TestAProofHoldsForOneConnectionTokenAndKey(t *testing.T) {
	p := newPlace(t)
	made, key := p.create(), newKey(t)
	elsewhere := p.dial(nil)
	overheard, err := wire.Prove(key, made.RegistrationJWT, elsewhere.ConnectionState())
	must(t, err)
	for name, change := range map[string]func(*wire.RegisterRequest){
		"of another connection": func(r *wire.RegisterRequest) { r.Proof = overheard },
		"none":                  func(r *wire.RegisterRequest) { r.Proof = nil },
		"for another key":       func(r *wire.RegisterRequest) { r.PublicKeyPEM = publicPEM(t, newKey(t)) },
		"for another token":     func(r *wire.RegisterRequest) { r.Token += "x" },
		"no key":                func(r *wire.RegisterRequest) { r.PublicKeyPEM = "x" },
	} {
		if r := p.register(made.RegistrationJWT, key, change); r.bad.Code != wire.CodeProofInvalid {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	if r := p.register(made.RegistrationJWT, key, func(r *wire.RegisterRequest) { r.Hostname = "../../etc" }); r.status != http.StatusBadRequest {
		t.Errorf("a path as hostname: %d %s", r.status, r.body)
	}
	if r := p.register(made.RegistrationJWT, key, func(r *wire.RegisterRequest) { r.PrivateIPv4 = "evil" }); r.status != http.StatusBadRequest {
		t.Errorf("no address: %d %s", r.status, r.body)
	}
}

func TestARenewalNeedsTheCertificateOfAnAgentOfThisCluster(t *testing.T) {
	p := newPlace(t)
	made, key := p.create(), newKey(t)
	got := p.register(made.RegistrationJWT, key)
	mine := pair(t, []byte(got.good.CertificatePEM), key)
	foreign, err := ca.Open(t.Context(), ca.Options{Storage: storage.NewMemory(), Secrets: secrets.NewMemory(), ClusterID: "prod", Now: p.clock.Now})
	must(t, err)
	forged, err := foreign.Issue(ca.Request{Role: wire.RoleAgent, Name: made.InstanceID, Tenant: "acme", PublicKey: publicOf(key)})
	must(t, err)
	stolen := newKey(t)
	for name, test := range map[string]struct {
		cert *tls.Certificate
		code string
	}{
		"none":              {nil, wire.CodeProofInvalid},
		"another authority": {pair(t, forged.PEM, key), wire.CodeProofInvalid},
		"an operator's":     {p.certificate(ca.Request{Role: wire.RoleOperator, Name: made.InstanceID, Tenant: "acme"}, key), wire.CodeProofInvalid},
		"a server's":        {p.certificate(ca.Request{Role: wire.RoleServer, Name: made.InstanceID, Hosts: []string{"x"}}, key), wire.CodeProofInvalid},
		"another key":       {p.certificate(ca.Request{Role: wire.RoleAgent, Name: made.InstanceID, Tenant: "acme"}, stolen), wire.CodeProofInvalid},
		"another tenant":    {p.certificate(ca.Request{Role: wire.RoleAgent, Name: made.InstanceID, Tenant: "other"}, key), wire.CodeInstanceUnknown},
		"no instance":       {p.certificate(ca.Request{Role: wire.RoleAgent, Name: "../../x", Tenant: "acme"}, key), wire.CodeInternal},
	} {
		if r := p.send(p.dial(test.cert), wire.RenewPath, []byte("{}")); r.bad.Code != test.code {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	p.clock.Advance(25 * time.Hour)
	if r := p.send(p.dial(mine), wire.RenewPath, []byte("{}")); r.status != http.StatusOK || !strings.Contains(p.log.String(), "has ended; its record decides") {
		t.Errorf("one that ended an hour ago: %d %s", r.status, r.body)
	}
	p.clock.Advance(7 * 24 * time.Hour)
	if r := p.send(p.dial(mine), wire.RenewPath, []byte("{}")); r.bad.Code != wire.CodeProofInvalid {
		t.Errorf("one that ended long ago: %d %s", r.status, r.body)
	}
}

func TestARequestIsBoundedInSizeFormAndTime(t *testing.T) {
	p := newPlace(t)
	for name, body := range map[string][]byte{
		"too long":  []byte(`{"token":"` + strings.Repeat("a", wire.MaxBody) + `"}`),
		"not JSON":  []byte("token=1"),
		"two":       []byte("{}{}"),
		"an array":  []byte("[]"),
		"too deep":  []byte(strings.Repeat("[", 30000)),
		"no proof":  []byte(`{"token":"x","proof":"%%%"}`),
		"empty":     nil,
		"wrong key": []byte(`{"token":1}`),
	} {
		if r := p.send(p.dial(nil), wire.RegisterPath, body); r.status < 400 || r.status >= 500 {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
	for _, path := range []string{"/", "/v1/register/../renew", "/v1/other", "//v1/register"} {
		if r := p.send(p.dial(nil), path, []byte("{}")); r.status == http.StatusOK {
			t.Errorf("%s is answered", path)
		}
	}
	if p.server.ReadTimeout <= 0 || p.server.WriteTimeout <= 0 || p.server.ReadHeaderTimeout <= 0 || p.server.IdleTimeout <= 0 || p.server.MaxHeaderBytes <= 0 {
		t.Error("a slow client may take as long as it likes")
	}
	conf := p.server.TLSConfig.Clone()
	conf.InsecureSkipVerify, conf.MaxVersion, conf.MinVersion = true, tls.VersionTLS12, 0
	if c, err := (&tls.Dialer{Config: conf}).DialContext(t.Context(), "tcp", p.addr); err == nil {
		_ = c.Close()
		t.Error("TLS 1.2 is spoken")
	}
}

func TestABodyWithoutEndIsAnsweredAtItsBound(t *testing.T) {
	p := newPlace(t)
	c := p.dial(nil)
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n", wire.RegisterPath)
	must(t, err)
	_, err = c.Write([]byte(`{"token":"` + strings.Repeat("a", wire.MaxBody)))
	must(t, err)
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.Contains(line, " 400 ") {
		t.Fatalf("answer %q, %v", line, err)
	}
}

// blocked is a registrar that waits until it is let go.
type blocked struct {
	entered chan struct{}
	leave   chan struct{}
}

func (b *blocked) Register(ctx context.Context, _ instances.RegisterRequest) (*instances.Registration, error) {
	b.entered <- struct{}{}
	select {
	case <-b.leave:
	case <-ctx.Done():
	}
	return nil, instances.ErrNotLeader
}

func (b *blocked) Renew(context.Context, instances.RenewRequest) (*instances.Registration, error) {
	return nil, instances.ErrNotLeader
}
func (b *blocked) Denied(string) bool { return false }

func TestRequestsAtOnceAndOfOneAddressAreLimited(t *testing.T) {
	b := &blocked{make(chan struct{}, 1), make(chan struct{})}
	p := newPlace(t, func(o *registration.Options) { o.Registrar, o.AtOnce, o.Burst = b, 1, 3 })
	first := make(chan reply)
	c, key := p.dial(nil), newKey(t)
	proof, err := wire.Prove(key, "t", c.ConnectionState())
	must(t, err)
	body, err := json.Marshal(wire.RegisterRequest{Token: "t", PublicKeyPEM: publicPEM(t, key), Proof: proof})
	must(t, err)
	go func() { first <- p.send(c, wire.RegisterPath, body) }()
	<-b.entered
	if r := p.register("t", newKey(t)); r.status != http.StatusServiceUnavailable || r.bad.Code != wire.CodeRateLimited {
		t.Errorf("a second one at once: %d %s", r.status, r.body)
	}
	close(b.leave)
	if r := <-first; r.bad.Code != wire.CodeNotLeader {
		t.Errorf("the first one: %s", r.body)
	}
	codes := map[string]int{}
	for range 4 {
		codes[p.register("t", newKey(t)).bad.Code]++
		select {
		case <-b.entered:
		default:
		}
	}
	if codes[wire.CodeNotLeader] != 1 || codes[wire.CodeRateLimited] != 3 {
		t.Errorf("one address: %v", codes)
	}
}
