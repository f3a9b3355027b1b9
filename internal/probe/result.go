package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// Result is what one probe found.
type Result struct {
	OK     bool
	Kind   Kind
	Target string // the URL or address asked, with the address that was dialled
	Host   string // the Host header, when it is not the address
	// Connected: a connection was made, whatever came of it.
	Connected bool
	Status    int    // of an HTTP answer, 0 without one
	Expected  Ranges // statuses that would have passed
	Redirect  string // where the answer leads, if the probe did not follow
	Body      string // the beginning of an answer that did not pass, or what a gRPC call that failed said
	Service   string // whose health was asked for by gRPC; "" is the server
	Health    string // of a gRPC answer: "SERVING", "NOT_SERVING" …; "" without one
	GRPCCode  int    // status of the gRPC call; 0 when it was answered, or did not come that far
	Err       error  // why there is no answer
	Timeout   time.Duration
	Latency   time.Duration

	redirected int  // redirects followed when they became too many
	cut        bool // the caller's context ended first
}

// maxQuote bounds how much of a body goes into a sentence.
const maxQuote = 160

// Explain says in one sentence what was asked and what came of it.
func (r Result) Explain() string {
	name := r.Target
	if r.Host != "" {
		name += " (Host " + r.Host + ")"
	}
	switch {
	case r.OK && r.Kind == TCP:
		return fmt.Sprintf("%s took a connection in %s", name, r.took())
	case r.OK && r.Kind == HTTP:
		return fmt.Sprintf("GET %s answered %d in %s", name, r.Status, r.took())
	case r.Err != nil:
		return name + " " + r.failure()
	case r.Kind == GRPC:
		return r.explainGRPC(name)
	case r.redirected > 0:
		return fmt.Sprintf("GET %s answered with more than %d redirects, the last one to %s", name, r.redirected, r.Redirect)
	case r.Redirect != "":
		return fmt.Sprintf("GET %s answered %d, a redirect to %s, where a probe does not follow; expected %s",
			name, r.Status, r.Redirect, r.Expected)
	}
	return fmt.Sprintf("GET %s answered %d, expected %s%s", name, r.Status, r.Expected, r.quote())
}

func (r Result) took() time.Duration { return r.Latency.Round(time.Millisecond / 10) }

func (r Result) quote() string {
	if r.Body == "" {
		return ""
	}
	text := []rune(r.Body)
	more := ""
	if len(text) > maxQuote {
		text, more = text[:maxQuote], "…"
	}
	return fmt.Sprintf(": %q%s", string(text), more)
}

// failure continues the sentence that begins with the target's name.
func (r Result) failure() string {
	header, unknown := tls.RecordHeaderError{}, x509.UnknownAuthorityError{}
	wrongName := x509.HostnameError{}
	switch err := r.Err; {
	case r.cut:
		return fmt.Sprintf("was not asked to the end: the probe was cut short after %s", r.took())
	case timedOut(err) && !r.Connected:
		return fmt.Sprintf("did not answer within %s: no connection was made", r.Timeout)
	case timedOut(err):
		return fmt.Sprintf("did not answer within %s: it took the connection and sent no answer", r.Timeout)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused the connection: nothing listens on that port; a service must listen on 0.0.0.0 or ::, not on 127.0.0.1 alone"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "cannot be reached: there is no route to it"
	case errors.As(err, &header), strings.Contains(err.Error(), "gave HTTP response to HTTPS"):
		return "did not answer with TLS; if it speaks plain HTTP, its scheme is http"
	case errors.As(err, &unknown), errors.As(err, &wrongName):
		return fmt.Sprintf("showed a certificate that cannot be trusted: %v", err)
	case closedByPeer(err) && r.Kind == GRPC:
		return "closed the connection without an answer, as a server may that does not speak HTTP/2" + r.withoutTLS()
	case closedByPeer(err):
		return "closed the connection without an answer"
	case r.Kind == GRPC && notHTTP2(err):
		return "took the connection, but does not speak HTTP/2" + r.withoutTLS() + ", as gRPC does"
	case errors.Is(err, errNotGRPC):
		return fmt.Sprintf("answered, but not with gRPC: %s", strings.TrimPrefix(err.Error(), errNotGRPC.Error()+": "))
	case strings.Contains(err.Error(), "malformed HTTP"):
		return fmt.Sprintf("answered, but not with HTTP: %v", err)
	}
	return fmt.Sprintf("could not be asked: %v", withoutAddress(r.Err))
}

func (r Result) withoutTLS() string {
	if strings.HasPrefix(r.Target, "grpcs:") {
		return ""
	}
	return " without TLS"
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}

// closedByPeer knows the faces of a peer that hangs up; which one shows depends
// on what the transport was doing when it noticed.
func closedByPeer(err error) bool {
	for _, face := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, face) {
			return true
		}
	}
	return strings.Contains(err.Error(), "server closed idle connection")
}

// withoutAddress drops the part of a dial error that the target says already.
func withoutAddress(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Err != nil {
		return op.Err
	}
	return err
}
