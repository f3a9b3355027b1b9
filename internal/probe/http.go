package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// maxHeaderBytes bounds the header of an answer.
const maxHeaderBytes = 64 << 10

func (l Limits) runHTTP(ctx context.Context, d Dialer, s Spec, r *Result) {
	u, err := s.url()
	if err != nil {
		r.Err = err
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		r.Err = err
		return
	}
	req.Header.Set("User-Agent", "berth-probe")
	var connected atomic.Bool // the transport dials in a goroutine of its own
	transport := s.transport(d, func() { connected.Store(true) })
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: l.redirects(s, r)}

	res, err := client.Do(req)
	r.Connected = connected.Load()
	if err != nil {
		r.Err = inner(err)
		return
	}
	defer func() { _ = res.Body.Close() }() // ends the connection, also in the middle of the body
	r.Status = res.StatusCode
	if r.OK = s.Expected.Has(r.Status); !r.OK {
		r.Body = snippet(res.Body, l.MaxOutput)
	}
}

func (s Spec) transport(d Dialer, connected func()) *http.Transport {
	return &http.Transport{
		DialContext:            fixed{dialer: d, address: s.Address, connected: connected}.dial,
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: s.SkipVerify}, //nolint:gosec // said by the spec, see SkipVerify
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// redirects decides about each redirect; one that is not followed is the
// probe's answer.
func (l Limits) redirects(s Spec, r *Result) func(*http.Request, []*http.Request) error {
	return func(next *http.Request, via []*http.Request) error {
		switch first := via[0].URL; {
		case s.Expected.Has(next.Response.StatusCode): // the redirect itself is what was expected
		case next.URL.Scheme != first.Scheme || !strings.EqualFold(next.URL.Host, first.Host):
			r.Redirect = next.URL.Redacted()
		case len(via) > l.MaxRedirects:
			r.Redirect, r.redirected = next.URL.Redacted(), len(via)-1
		default:
			return nil
		}
		return http.ErrUseLastResponse
	}
}

// inner drops what the client says about the URL; the target says it.
func inner(err error) error {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}

// snippet is the beginning of a body, as text without control characters. What
// cannot be read in time is left out: it is a hint.
func snippet(body io.Reader, limit int) string {
	raw, _ := io.ReadAll(io.LimitReader(body, int64(limit)))
	text := strings.Map(func(c rune) rune {
		switch {
		case c == utf8.RuneError:
			return -1 // also the half of a character at the end
		case unicode.IsControl(c):
			return ' '
		}
		return c
	}, string(raw))
	return strings.TrimSpace(text)
}
