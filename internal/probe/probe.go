package probe

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Run performs one probe through d with the default limits.
func Run(ctx context.Context, d Dialer, s Spec) Result { return Limits{}.Run(ctx, d, s) }

// Run performs one probe through d. It returns within the probe's timeout, or
// earlier when ctx ends.
func (l Limits) Run(ctx context.Context, d Dialer, s Spec) Result {
	l = l.OrDefaults()
	if s.Timeout <= 0 {
		s.Timeout = l.Timeout
	}
	began := time.Now()
	r := Result{Kind: s.Kind, Target: s.target(), Host: s.Host, Timeout: s.Timeout}
	within, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	switch s.Kind {
	case HTTP:
		r.Expected = s.Expected
		l.runHTTP(within, d, s, &r)
	case GRPC:
		r.Service = s.Service
		l.runGRPC(within, d, s, &r)
	case TCP:
		runTCP(within, d, s, &r)
	default:
		r.Err = fmt.Errorf("%q is no kind of probe; there are %s, %s and %s", s.Kind, HTTP, GRPC, TCP)
	}
	r.Latency = time.Since(began)
	r.cut = r.Err != nil && ctx.Err() != nil
	return r
}

func runTCP(ctx context.Context, d Dialer, s Spec, r *Result) {
	conn, err := d.DialContext(ctx, "tcp", s.Address)
	if err != nil {
		r.Err = err
		return
	}
	r.OK, r.Connected = true, true
	_ = conn.Close() // the connection was the question
}

// fixed dials one address, whatever address is asked for, and remembers whether
// a connection was made.
type fixed struct {
	dialer    Dialer
	address   string
	connected func()
}

func (f fixed) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	conn, err := f.dialer.DialContext(ctx, network, f.address)
	if err == nil {
		f.connected()
	}
	return conn, err
}
