package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Dialer opens connections to containers; on this machine a *net.Dialer.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Kind is how a probe asks.
type Kind string

// The kinds.
const (
	HTTP Kind = "http"
	TCP  Kind = "tcp"
)

// Spec is one probe.
type Spec struct {
	Kind     Kind
	Address  string // host:port to dial
	Path     string // of an HTTP probe; "" is "/"
	Host     string // Host header; "" is the address
	Expected Ranges // statuses that pass; empty is 200-299
	Timeout  time.Duration
}

// Result is what one probe found.
type Result struct {
	OK      bool
	Target  string // URL or address asked
	Status  int    // of an HTTP answer
	Err     error
	Latency time.Duration
	Body    string // first bytes of a refused answer
	timeout time.Duration
}

// bodyLimit bounds how much of an answer is kept.
const bodyLimit = 512

// Run performs the probe within its timeout and the context.
func Run(ctx context.Context, d Dialer, s Spec) Result {
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	begun := time.Now()
	var r Result
	if s.Kind == TCP {
		r = runTCP(ctx, d, s)
	} else {
		r = runHTTP(ctx, d, s)
	}
	r.Latency, r.timeout = time.Since(begun), s.Timeout
	return r
}

func runTCP(ctx context.Context, d Dialer, s Spec) Result {
	r := Result{Target: "tcp://" + s.Address}
	conn, err := d.DialContext(ctx, "tcp", s.Address)
	if err != nil {
		r.Err = err
		return r
	}
	r.OK = true
	_ = conn.Close() // the connection was the question
	return r
}

func runHTTP(ctx context.Context, d Dialer, s Spec) Result {
	path := s.Path
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	r := Result{Target: "http://" + s.Address + path}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Target, http.NoBody)
	if err != nil {
		r.Err = err
		return r
	}
	if s.Host != "" {
		req.Host = s.Host
	}
	req.Header.Set("User-Agent", "berth-probe")
	t := &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}
	defer t.CloseIdleConnections()
	res, err := t.RoundTrip(req) // follows no redirect
	if err != nil {
		r.Err = err
		return r
	}
	defer func() { _ = res.Body.Close() }()
	r.Status = res.StatusCode
	if r.OK = s.Expected.Has(res.StatusCode); !r.OK {
		body, _ := io.ReadAll(io.LimitReader(res.Body, bodyLimit)) // a hint, complete or not
		r.Body = strings.ToValidUTF8(string(body), "�")
	}
	return r
}

// Explain says what was found in a sentence.
func (r Result) Explain() string {
	switch {
	case r.OK:
		return r.Target + " answered as expected"
	case r.Err == nil:
		s := fmt.Sprintf("GET %s answered %d", r.Target, r.Status)
		if body := strings.TrimSpace(r.Body); body != "" {
			s += fmt.Sprintf(" (%q)", firstLine(body))
		}
		return s
	case errors.Is(r.Err, context.DeadlineExceeded):
		return fmt.Sprintf("%s did not answer within %s", r.Target, r.timeout)
	}
	return fmt.Sprintf("%s: %v", r.Target, shorten(r.Err))
}

// shorten drops the parts of a dial error that the target already says.
func shorten(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
