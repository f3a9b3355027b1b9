package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// headroom is how much faster the load is sent than it has to be achieved.
const headroom = 1.1

// options say how much to do.
type options struct {
	docker  string // the engine's address
	pool    string // IPv4 prefix that machines' ranges are cut from
	network string // IPv4 prefix that app networks are cut from
	address string // at which machines reach the server; on the loopback device for the run

	machines, replicas int
	changes, kills     int // kills are of the control plane, in as many of the changes
	rate               int // plain requests a second that have to be achieved
	slow, streams      int // clients with a slow request, an event stream, a WebSocket each
	slowFor            time.Duration

	brief bool // no machine is killed, none replaced, and the group stays as large
	vm    bool

	verbose bool // show the ends of the logs at any end
	out     io.Writer
}

func defaults() options {
	return options{
		docker: "unix:///var/run/docker.sock", pool: "10.233.0.0/20", network: "10.224.0.0/16", address: "10.233.240.1",
		machines: 3, replicas: 6, changes: 6, kills: 6, rate: 50, slow: 2, streams: 2, slowFor: time.Second,
		vm: true, out: os.Stdout,
	}
}

// drainTimeout is long enough for every slow request.
func (o options) drainTimeout() time.Duration { return o.slowFor + 2*time.Second }

func (o options) say(format string, args ...any) {
	fmt.Fprintf(o.out, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05.000")}, args...)...)
}
