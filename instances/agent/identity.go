package agent

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// identity is who the machine is. It is safe for concurrent use.
type identity struct {
	folder   *folder
	instance string
	key      ed25519.PrivateKey

	mu      sync.Mutex
	roots   *x509.CertPool
	cert    *tls.Certificate // nil: not registered
	got     time.Time        // when cert came, by the clock of this machine
	changed chan struct{}    // closed and replaced when cert is another
}

// openIdentity reads the folder, and makes the key when there is none: before anything is
// sent, so that whatever happens to an answer, the next request is by the same key.
func openIdentity(f *folder, instance string, now time.Time) (*identity, error) {
	id := &identity{folder: f, instance: instance, changed: make(chan struct{})}
	text, err := f.read(fileCA)
	if err != nil {
		return nil, err
	}
	if id.roots, err = parseRoots(text); err != nil {
		return nil, fmt.Errorf("%s: %w", fileCA, err)
	}
	if id.key, err = openKey(f); err != nil {
		return nil, err
	}
	text, err = f.read(fileCert)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return id, nil
	case err != nil:
		return nil, err
	}
	// Whether it has expired is not asked: a clock that is wrong would cost the machine
	// its only way in.
	if id.cert, err = id.fits(text, nil); err != nil {
		return nil, fmt.Errorf("%s: %w", fileCert, err)
	}
	if id.got, err = f.modified(fileCert); err != nil {
		return nil, err
	}
	if !now.Before(id.cert.Leaf.NotAfter) {
		return id, nil // a token that is there is one to come back with
	}
	return id, f.remove(fileToken)
}

func openKey(f *folder) (ed25519.PrivateKey, error) {
	text, err := f.read(fileKey)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(f)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("%s: it is not a private key in PEM; the machine's identity is lost with it, no other is made", fileKey)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: it is not a key in PKCS #8", fileKey) // the error may quote it
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s: it is not an Ed25519 key", fileKey)
	}
	return key, nil
}

func makeKey(f *folder) (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the machine's key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("make the machine's key: %w", err)
	}
	return key, f.write(fileKey, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func parseRoots(text []byte) (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("no certificate is in it")
	}
	return pool, nil
}

// fits reads a certificate and says whether it is this machine's. With roots it has to be
// by them as well, and of this moment.
func (id *identity) fits(text []byte, roots *x509.CertPool) (*tls.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("it is not a certificate in PEM")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("it is not a certificate: %w", err)
	}
	who, err := wire.Identify(leaf)
	public, _ := leaf.PublicKey.(ed25519.PublicKey)
	switch {
	case err != nil:
		return nil, err
	case who.Role != wire.RoleAgent:
		return nil, fmt.Errorf("%w: it is not for an agent", wire.ErrRole)
	case who.InstanceID != id.instance:
		return nil, fmt.Errorf("it is for instance %q, this machine is %q", wire.Clip(who.InstanceID), id.instance)
	case !public.Equal(id.key.Public()):
		return nil, fmt.Errorf("it is not for the key in %s", fileKey)
	}
	if roots != nil {
		opts := x509.VerifyOptions{Roots: roots, CurrentTime: leaf.NotBefore, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		if _, err := leaf.Verify(opts); err != nil {
			return nil, err
		}
	}
	return &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: id.key, Leaf: leaf}, nil
}

// take keeps what a registration or a renewal answered: the authority first, so that the
// certificate on disk always has its own; the token goes last.
func (id *identity) take(r *wire.Registration, now time.Time) error {
	if r.InstanceID != id.instance {
		return fmt.Errorf("the answer is for instance %q, this machine is %q", wire.Clip(r.InstanceID), id.instance)
	}
	roots, err := parseRoots([]byte(r.CAPEM))
	if err != nil {
		return fmt.Errorf("the authority in the answer: %w", err)
	}
	cert, err := id.fits([]byte(r.CertificatePEM), roots)
	if err != nil {
		return fmt.Errorf("the certificate in the answer: %w", err)
	}
	if err := id.folder.write(fileCA, []byte(r.CAPEM)); err != nil {
		return err
	}
	if err := id.folder.write(fileCert, []byte(r.CertificatePEM)); err != nil {
		return err
	}
	id.mu.Lock()
	id.roots, id.cert, id.got = roots, cert, now
	close(id.changed)
	id.changed = make(chan struct{})
	id.mu.Unlock()
	return id.folder.remove(fileToken)
}

// now is the certificate of this moment, and what is closed when another takes its place.
func (id *identity) now() (*tls.Certificate, <-chan struct{}) {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.cert, id.changed
}

// since is when the certificate came, by the clock of this machine.
func (id *identity) since() time.Time {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.got
}

func (id *identity) peer(role wire.Role, now func() time.Time) wire.Peer {
	return wire.Peer{
		Role: role, Now: now,
		Roots: func() *x509.CertPool {
			id.mu.Lock()
			defer id.mu.Unlock()
			return id.roots
		},
		Certificate: func() (*tls.Certificate, error) {
			if cert, _ := id.now(); cert != nil {
				return cert, nil
			}
			return nil, errors.New("the machine is not registered")
		},
	}
}
