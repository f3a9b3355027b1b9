package egress

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"time"
)

// ErrTooLarge is what reading on of an answer gives that is larger than MaxBodyBytes.
var ErrTooLarge = errors.New("the answer is too large")

// Bounds of what a client does.
const (
	MaxBodyBytes   int64 = 64 << 10 // of an answer's body
	DefaultTimeout       = 10 * time.Second

	maxHeaderBytes  = 16 << 10 // of an answer
	maxConnsPerHost = 8
	maxIdleConns    = 16
	idleTimeout     = 30 * time.Second
)

// Client sends requests to URLs that others gave. Every URL is judged as ParseTarget
// does, every connection as Dialer does. A redirect is not followed: it is the answer.
// A request takes no longer than timeout with the reading of its answer, 10 s where
// timeout is not above 0, and a body gives ErrTooLarge behind its first 64 KiB.
//
// What it has of the environment is the machine's resolver and its roots of TLS,
// which is 1.2 or later. Whoever sends last calls CloseIdleConnections.
//
// An error of Do is a *url.Error, whose text has the URL with its query: where that
// must not be written, take what it wraps.
func Client(policy Policy, timeout time.Duration) *http.Client {
	return newClient(&Dialer{Policy: policy}, timeout, &tls.Config{MinVersion: tls.VersionTLS12})
}

func newClient(d *Dialer, timeout time.Duration, conf *tls.Config) *http.Client {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &guarded{policy: d.Policy, to: &http.Transport{
			Proxy:                  nil, // of the environment there is none
			DialContext:            d.DialContext,
			TLSClientConfig:        conf,
			TLSHandshakeTimeout:    dialTimeout,
			Protocols:              protocols,
			DisableCompression:     true, // the bytes that are bounded are those that come
			MaxResponseHeaderBytes: maxHeaderBytes,
			MaxConnsPerHost:        maxConnsPerHost,
			MaxIdleConns:           maxIdleConns,
			MaxIdleConnsPerHost:    1,
			IdleConnTimeout:        idleTimeout,
		}},
	}
}

// guarded judges requests before the transport sees them, and bounds answers.
type guarded struct {
	policy Policy
	to     *http.Transport
}

var _ http.RoundTripper = (*guarded)(nil)

func (g *guarded) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := g.policy.checkURL(req.URL); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper closes it whatever happens
		}
		return nil, err
	}
	resp, err := g.to.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &bounded{ReadCloser: resp.Body, left: MaxBodyBytes}
	return resp, nil
}

// CloseIdleConnections is called by the method of http.Client.
func (g *guarded) CloseIdleConnections() { g.to.CloseIdleConnections() }

// bounded is a body that ends in an error where it is too large.
type bounded struct {
	io.ReadCloser
	left     int64
	tooLarge bool
}

func (b *bounded) Read(into []byte) (int, error) {
	if b.tooLarge {
		return 0, ErrTooLarge
	}
	// One byte more tells a body that is too large from one that just fits.
	if int64(len(into)) > b.left+1 {
		into = into[:b.left+1]
	}
	n, err := b.ReadCloser.Read(into)
	if int64(n) > b.left {
		n, b.left, b.tooLarge = int(b.left), 0, true
		return n, ErrTooLarge
	}
	b.left -= int64(n)
	return n, err
}
