package load

import (
	"context"
	"net"
	"net/http"
	"time"
)

// Bounds on how long an answer may take. The first is longer than the longest
// time that the data plane holds a request by default.
const (
	answerTimeout = 30 * time.Second
	slowTimeout   = 60 * time.Second
	// silence is how long an event stream or a WebSocket may say nothing; the
	// server is asked to speak every tenth of a second.
	silence = 15 * time.Second
	// pauseAfterFailure keeps a client that cannot connect from flooding.
	pauseAfterFailure = 100 * time.Millisecond
)

// Config says what traffic to make.
type Config struct {
	Addr string // host:port to dial
	Host string // the name to ask for, and the Host header

	Rate    int           // plain requests a second; every fifth is a POST
	OnlyGet bool          // none is
	Slow    int           // clients that always have a slow request open
	SlowFor time.Duration // how long the server shall take for one; 0 means 5 s
	Streams int           // event streams
	Sockets int           // WebSockets

	// FirstAnswer, when set, is called once, after the first plain request
	// that was answered well.
	FirstAnswer func()
	// Answered, when set, is told of every plain request that was answered well:
	// when it began and who answered. It is called by one goroutine.
	Answered func(began time.Time, by Origin)
	// Opened, when set, is told of every slow request, event stream and WebSocket
	// when its answer has begun: when it was asked for, and who answers. Several
	// goroutines call it.
	Opened func(began time.Time, by Origin)
	// Ended, when set, decides whether an event stream or WebSocket of a server
	// might end now: it ended as it may at a drain, and the caller knows whether
	// there was one. An error makes it a failure. Several goroutines call it.
	Ended func(by Origin) error
}

// Origin is who gave an answer, as the answer says.
type Origin struct {
	Version string
	Server  string // host name of the container
}

func origin(h http.Header) Origin {
	return Origin{Version: h.Get("X-Version"), Server: h.Get("X-Served-By")}
}

// opened tells who answers what is held open.
func (c Config) opened(began time.Time, h http.Header) {
	if c.Opened != nil {
		c.Opened(began, origin(h))
	}
}

// mayEnd asks whoever knows what is being drained.
func (c Config) mayEnd(by Origin) error {
	if c.Ended == nil {
		return nil
	}
	return c.Ended(by)
}

// transport dials the configured address whatever the URL says. It gives idle
// connections up before the data plane does, so that one that is closed under a
// request was closed too early.
func (c Config) transport() *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			d := net.Dialer{Timeout: 10 * time.Second}
			return d.DialContext(ctx, network, c.Addr)
		},
		MaxIdleConnsPerHost: 1000,
		IdleConnTimeout:     20 * time.Second,
		DisableCompression:  true,
	}
}

func (c Config) url(path string) string { return "http://" + c.Host + path }
