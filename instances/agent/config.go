package agent

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/berth-cloud/berth/instances/wire"
)

// Defaults of Config.
const (
	DefaultDir          = "/var/lib/berth/agent"
	DefaultEngineSocket = "/var/run/docker.sock"
)

// Config is an agent's.
type Config struct {
	Dir          string // DefaultDir when empty
	EngineSocket string // path; DefaultEngineSocket when empty
	Version      string
	BootID       string // the kernel's
	// Host answers dials of wire.KindHost; nil refuses them.
	Host http.Handler
	// Notices tells of what the machine learns about its own end; nil tells nothing.
	Notices Notices
	// Facts and Metrics describe the machine; nil reads Linux's own files.
	Facts   func() wire.Facts
	Metrics func() wire.Metrics
	// Dial reaches the control plane; nil is a plain dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  *slog.Logger     // nil discards
	Now  func() time.Time // nil is the machine's clock
	// Jitter is a number from 0 to 1 by chance; nil is a source of its own.
	Jitter func() float64
	Timing Timing
	Limits Limits
}

// Timing are an agent's waits and deadlines; 0 is the default.
type Timing struct {
	// Heartbeat is how often it is heard of at the least; 0 is as often as the other end
	// says (10 s when it does not). Three that are not answered end a connection.
	Heartbeat time.Duration
	Connect   time.Duration // to a connection with its welcome, and for a request (15 s)
	Write     time.Duration // one frame (10 s)
	Target    time.Duration // to reach what a dial is for (5 s)
	RetryMin  time.Duration // the first pause after a failure (500 ms)
	RetryMax  time.Duration // the longest (30 s); a heartbeat, once an end has said how often it wants one
	RetrySlow time.Duration // after a refusal that only a person ends (5 min)
	Stable    time.Duration // how long a connection lives to count as one that went well (30 s)
}

// Limits bound what a control plane can make an agent do; 0 is the default.
type Limits struct {
	Dials int // connections that one control has at once (1024)
}

// Notices learns that the machine will be taken away, from its provider.
type Notices interface {
	// Watch calls found for each thing it learns, until ctx is done. An error is logged,
	// and Watch called again after a pause.
	Watch(ctx context.Context, found func(wire.Notice)) error
}

func (c *Config) fill() error {
	if c.Dir == "" {
		c.Dir = DefaultDir
	}
	if c.EngineSocket == "" {
		c.EngineSocket = DefaultEngineSocket
	}
	if c.BootID == "" {
		return errors.New("an agent needs the machine's boot id")
	}
	if c.Facts == nil {
		c.Facts = linuxFacts
	}
	if c.Metrics == nil {
		c.Metrics = linuxMetrics
	}
	if c.Dial == nil {
		c.Dial = plainDialer().DialContext
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Jitter == nil {
		c.Jitter = chance
	}
	c.Timing.fill()
	if c.Limits.Dials <= 0 {
		c.Limits.Dials = 1024
	}
	return nil
}

func (t *Timing) fill() {
	for _, d := range []struct {
		at   *time.Duration
		rest time.Duration
	}{
		{&t.Connect, 15 * time.Second},
		{&t.Write, 10 * time.Second},
		{&t.Target, 5 * time.Second},
		{&t.RetryMin, 500 * time.Millisecond},
		{&t.RetryMax, 30 * time.Second},
		{&t.RetrySlow, 5 * time.Minute},
		{&t.Stable, 30 * time.Second},
	} {
		if *d.at <= 0 {
			*d.at = d.rest
		}
	}
}

// plainDialer finds a peer that died within about a minute, also where nothing is sent.
func plainDialer() *net.Dialer {
	return &net.Dialer{
		Timeout:         10 * time.Second,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 10 * time.Second, Count: 4},
	}
}

func chance() float64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // it never fails
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}
