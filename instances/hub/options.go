package hub

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// DenyList tells of certificates that hold no more. It is asked often, and must be quick.
type DenyList interface {
	// Denied takes a serial number as wire.SerialText writes it.
	Denied(serial string) bool
}

// Options are a hub's.
type Options struct {
	// Certificate is the hub's own, of RoleServer or RoleIngress. It is asked at every
	// handshake. Required.
	Certificate func() (*tls.Certificate, error)
	// Roots are the cluster's authorities. Required.
	Roots func() *x509.CertPool
	// Deny is asked at every handshake and by Recheck; nil denies nobody.
	Deny DenyList
	// Log is told of machines that come and go; nil discards.
	Log *slog.Logger
	// Now is the clock of events and of certificates; nil is the machine's.
	Now    func() time.Time
	Timing Timing
	Limits Limits
}

// Timing are a hub's deadlines; 0 is the default.
type Timing struct {
	// Heartbeat is how often an agent is to be heard of (10 s), which its welcome says; after
	// three that are missed it is lost. Agents take from 1 s to 60 s.
	Heartbeat time.Duration
	Handshake time.Duration // from a connection to its first frame (10 s)
	Write     time.Duration // one frame (10 s)
	Dial      time.Duration // from a dial to its connection (10 s)
	Probe     time.Duration // for a sign of life of a machine that seems to be there twice (3 s)
}

// Limits bound what machines can make a hub do; 0 is the default.
type Limits struct {
	Machines     int // that are connected at once (10,000)
	Handshakes   int // that are under way at once (512)
	PerAddress   int // of these, from one address (64)
	Conns        int // dialled through one machine, open or asked for (1024)
	Burst        int // frames that an agent may send at once (32)
	FramesPerSec int // and from then on (4)
}

func (t *Timing) fill() {
	for _, d := range []struct {
		at   *time.Duration
		rest time.Duration
	}{
		{&t.Heartbeat, wire.HeartbeatEvery},
		{&t.Handshake, 10 * time.Second},
		{&t.Write, 10 * time.Second},
		{&t.Dial, 10 * time.Second},
		{&t.Probe, 3 * time.Second},
	} {
		if *d.at <= 0 {
			*d.at = d.rest
		}
	}
}

func (l *Limits) fill() {
	for _, n := range []struct {
		at   *int
		rest int
	}{
		{&l.Machines, 10_000}, {&l.Handshakes, 512}, {&l.PerAddress, 64}, {&l.Conns, 1024}, {&l.Burst, 32}, {&l.FramesPerSec, 4},
	} {
		if *n.at <= 0 {
			*n.at = n.rest
		}
	}
}

func (o *Options) fill() error {
	if o.Certificate == nil || o.Roots == nil {
		return errors.New("a hub needs a certificate and the cluster's authorities")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Timing.fill()
	o.Limits.fill()
	return nil
}
