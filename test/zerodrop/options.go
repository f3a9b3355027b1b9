package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// What one full run has to reach; the short form asks for less.
const (
	fullRate    = 500 // plain requests a second
	fullChanges = 20
	fullKills   = 20
)

// headroom is how much faster the load is sent than it has to be achieved.
const headroom = 1.1

// drainBeyond is how much longer a drain may take than a slow request, so that
// none has to be cut. Streams and WebSockets do not end before it by themselves.
const drainBeyond = 2 * time.Second

// options say how much to do.
type options struct {
	docker string // the engine's address
	pool   string // the IPv4 prefix that app networks come from

	rate, changes, kills int // what has to be reached
	plan                 []entry

	replicas               int // at first, and when replicas are killed
	slow, streams, sockets int
	slowFor                time.Duration // how long a slow request takes
	crashes                int           // of replicas; then there are no changes and no kills

	seed uint64 // of every choice
	out  io.Writer
}

func defaults() options {
	return options{
		docker: "unix:///var/run/docker.sock",
		// By process, so that two at once are not in each other's way.
		pool: fmt.Sprintf("10.%d.0.0/16", 232+os.Getpid()%8),
		rate: fullRate, changes: fullChanges, kills: fullKills, plan: fullPlan,
		replicas: 3, slow: 4, streams: 4, sockets: 4, slowFor: 5 * time.Second,
		seed: uint64(time.Now().UnixNano()),
		out:  os.Stdout,
	}
}

func (o options) drainTimeout() time.Duration { return o.slowFor + drainBeyond }

func (o options) say(format string, args ...any) {
	fmt.Fprintf(o.out, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05.000")}, args...)...)
}
