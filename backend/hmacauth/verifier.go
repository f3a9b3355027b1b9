package hmacauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Config is what a Verifier needs.
type Config struct {
	// Secrets are one, or two while one takes the place of the other.
	Secrets []string

	// PathPrefix goes before the path of every request, for a proxy that strips it:
	// the sender signed the path that he knows. It begins with "/" and does not end
	// with one; "" is none.
	PathPrefix string

	// Now is the clock; nil is time.Now.
	Now func() time.Time

	// Refused is told by Middleware of each request that it refuses, and why. It is
	// for the operator's log: the sender is told less. Nil is nobody.
	Refused func(r *http.Request, err error)
}

// maxSecrets is the old one and the new one.
const maxSecrets = 2

// Verifier verifies signatures. Many may use one at once.
type Verifier struct {
	keys    []*Key
	prefix  string
	now     func() time.Time
	refused func(*http.Request, error)
	unknown *crowd // whose bodies are read
}

// NewVerifier makes a Verifier. Secrets that are none, more than two or shorter
// than MinSecretLength, and a prefix of another form, are errors.
func NewVerifier(cfg Config) (*Verifier, error) {
	if len(cfg.Secrets) == 0 || len(cfg.Secrets) > maxSecrets {
		return nil, fmt.Errorf("verify signatures: %d secrets, and there must be 1 or %d", len(cfg.Secrets), maxSecrets)
	}
	v := &Verifier{prefix: cfg.PathPrefix, now: cfg.Now, refused: cfg.Refused, unknown: newCrowd(maxUnknown)}
	for i, secret := range cfg.Secrets {
		key, err := NewKey(secret)
		if err != nil {
			return nil, fmt.Errorf("verify signatures: secret %d: %w", i+1, err)
		}
		v.keys = append(v.keys, key)
	}
	if v.prefix != "" && (!strings.HasPrefix(v.prefix, "/") || strings.HasSuffix(v.prefix, "/")) {
		return nil, errors.New(`verify signatures: the path prefix must begin with "/" and not end with it`)
	}
	if v.now == nil {
		v.now = time.Now
	}
	if v.refused == nil {
		v.refused = func(*http.Request, error) {}
	}
	return v, nil
}

// Verify is nil when the header signs this method, path with query, and body. Else
// it is ErrMissing, ErrMalformed, ErrStale, ErrFuture or ErrWrong.
func (v *Verifier) Verify(method, requestURI string, body []byte, header string) error {
	s, err := v.admit(header)
	if err != nil {
		return err
	}
	return v.compare(s, method, requestURI, body)
}

// admit checks what can be checked without the request.
func (v *Verifier) admit(header string) (signature, error) {
	s, err := parse(header)
	if err != nil {
		return signature{}, err
	}
	return s, s.fresh(v.now())
}

func (v *Verifier) compare(s signature, method, requestURI string, body []byte) error {
	if strings.Contains(method, "\n") || strings.Contains(requestURI, "\n") {
		return ErrWrong // the lines that are signed could be those of another request
	}
	bodySum := sha256.Sum256(body)
	for _, key := range v.keys {
		want := key.sum(s.unix, method, v.prefix, requestURI, bodySum)
		if hmac.Equal(want[:], s.sum[:]) {
			return nil
		}
	}
	return ErrWrong
}
