package wire

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
)

// JoinToken is all that a host has to know to join a cluster: who it is to be, where it
// registers, by which authorities it knows the cluster, and the one-time token. As a text
// it is one word in which no character means anything to a shell.
type JoinToken struct {
	ClusterID        string `json:"c"`
	Shard            string `json:"s"`
	InstanceID       string `json:"i"`
	RegistrationAddr string `json:"r"`           // host:port
	AgentAddr        string `json:"a"`           // of the server's hub
	IngressAddr      string `json:"g,omitempty"` // of the data plane's
	// Authorities are the SHA-256 of the cluster's authorities, each of one certificate
	// in DER; one, or two while one takes over from the other.
	Authorities []Fingerprint `json:"f"`
	// Token is the registration token.
	Token string `json:"t"`
}

// Fingerprint is the SHA-256 of a certificate in DER; base64url in JSON.
type Fingerprint [sha256.Size]byte

// FingerprintOf is that of a certificate.
func FingerprintOf(c *x509.Certificate) Fingerprint { return sha256.Sum256(c.Raw) }

// MarshalText implements encoding.TextMarshaler.
func (f Fingerprint) MarshalText() ([]byte, error) {
	return []byte(base64.RawURLEncoding.EncodeToString(f[:])), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Fingerprint) UnmarshalText(text []byte) error {
	raw, err := decodeWord(string(text))
	if err != nil || len(raw) != len(f) {
		return errors.New("not a SHA-256 in base64url")
	}
	copy(f[:], raw)
	return nil
}

// decodeWord reads base64url in its one spelling: the library passes line ends over.
func decodeWord(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("a line end in base64url")
	}
	return base64.RawURLEncoding.Strict().DecodeString(text)
}

const (
	// joinPrefix begins every join token, and says how the rest is to be read.
	joinPrefix = "bj1."
	// MaxJoinToken bounds one, in bytes.
	MaxJoinToken = 16 << 10
	// maxAuthorities bounds those of a cluster.
	maxAuthorities = 4
)

// ErrJoinToken: a text is no join token, or not a whole one.
var ErrJoinToken = errors.New("not a join token")

var (
	joinWord  = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	joinToken = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)
	joinHost  = regexp.MustCompile(`^[A-Za-z0-9.:-]{1,253}$`)
	joinPort  = regexp.MustCompile(`^[0-9]{1,5}$`)
)

// check refuses what no cluster gives out.
func (t *JoinToken) check() error {
	bad := func(what string) error { return fmt.Errorf("%w: %s", ErrJoinToken, what) }
	for _, word := range []struct{ what, value string }{{"cluster", t.ClusterID}, {"shard", t.Shard}, {"instance", t.InstanceID}} {
		if !joinWord.MatchString(word.value) {
			return bad("its " + word.what + " is no name")
		}
	}
	for _, addr := range []struct {
		what, value string
		optional    bool
	}{
		{"registration address", t.RegistrationAddr, false}, {"agent address", t.AgentAddr, false}, {"data plane's address", t.IngressAddr, true},
	} {
		if addr.value == "" && addr.optional {
			continue
		}
		host, port, err := net.SplitHostPort(addr.value)
		if err != nil || !joinHost.MatchString(host) || !joinPort.MatchString(port) {
			return bad("its " + addr.what + " is not a host and a port")
		}
	}
	if n := len(t.Authorities); n == 0 || n > maxAuthorities {
		return bad(fmt.Sprintf("it names %d authorities", n))
	}
	if !joinToken.MatchString(t.Token) {
		return bad("there is no registration token in it")
	}
	if !t.signed() {
		return bad("it does not say what its registration token says; copy the whole command that `berth node join` printed")
	}
	return nil
}

// signed reports whether the registration token is for whom the rest says. Nobody verifies
// it here; but a word that was damaged on its way is not to use the token up.
func (t *JoinToken) signed() bool {
	raw, err := decodeWord(strings.Split(t.Token, ".")[1])
	var claims struct {
		Subject string `json:"sub"`
		Cluster string `json:"cluster_id"`
		Shard   string `json:"shard"`
	}
	return err == nil && json.Unmarshal(raw, &claims) == nil &&
		claims.Subject == t.InstanceID && claims.Cluster == t.ClusterID && claims.Shard == t.Shard
}

// Text is the token as one word. Errors: ErrJoinToken.
func (t *JoinToken) Text() (string, error) {
	if err := t.check(); err != nil {
		return "", err
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrJoinToken, err)
	}
	text := joinPrefix + base64.RawURLEncoding.EncodeToString(raw)
	if len(text) > MaxJoinToken {
		return "", fmt.Errorf("%w: it would be longer than %d bytes", ErrJoinToken, MaxJoinToken)
	}
	return text, nil
}

// ParseJoinToken reads what Text writes, and nothing else. Its errors repeat nothing of
// the text.
func ParseJoinToken(text string) (*JoinToken, error) {
	if len(text) > MaxJoinToken {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrJoinToken, MaxJoinToken)
	}
	body, ok := strings.CutPrefix(text, joinPrefix)
	if !ok {
		return nil, fmt.Errorf("%w: it does not begin with %s; copy the whole command that `berth node join` printed", ErrJoinToken, joinPrefix)
	}
	cut := fmt.Errorf("%w: a part of it is missing or was changed; copy the whole command that `berth node join` printed", ErrJoinToken)
	raw, err := decodeWord(body)
	if err != nil {
		return nil, cut
	}
	var t JoinToken
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return nil, cut
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, cut
	}
	return &t, t.check()
}

// ErrAuthority: the other end does not show an authority that is known by its fingerprint.
var ErrAuthority = errors.New("the other end is not of this cluster")

// Pin looks for the authorities of a cluster among the certificates that a server shows.
// They are in PEM, and all that is trusted of what was shown: whether the server's own
// certificate is by one of them is for whoever has made them its roots to verify.
func Pin(shown []*x509.Certificate, known []Fingerprint) (authorities []byte, pool *x509.CertPool, err error) {
	pool = x509.NewCertPool()
	for _, c := range shown {
		print := FingerprintOf(c)
		for _, k := range known {
			if subtle.ConstantTimeCompare(print[:], k[:]) == 1 && c.IsCA {
				pool.AddCert(c)
				authorities = append(authorities, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
			}
		}
	}
	if authorities == nil {
		return nil, nil, ErrAuthority
	}
	return authorities, pool, nil
}

// Pinned is how a host that only knows fingerprints greets a server. found is called with
// the authorities in PEM once the server's certificate is by one of them and for a
// server; until then the host has said nothing but its greeting.
func Pinned(p Peer, host string, known []Fingerprint, found func(authorities []byte)) *tls.Config {
	var pool *x509.CertPool
	p.Certificate = nil
	p.Roots = func() *x509.CertPool { return pool }
	config := p.Client(host)
	verify := config.VerifyConnection
	config.VerifyConnection = func(s tls.ConnectionState) error {
		authorities, pinned, err := Pin(s.PeerCertificates, known)
		if err != nil {
			return err
		}
		pool = pinned
		if err := verify(s); err != nil {
			return fmt.Errorf("%w: %w", ErrAuthority, err)
		}
		found(authorities)
		return nil
	}
	return config
}
