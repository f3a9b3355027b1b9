package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/berth-cloud/berth/backend"
)

// options are what a run is asked for.
type options struct {
	docker, pool          string
	berthd, node          string
	leases, atOnce, kills int
	every                 time.Duration
	seed                  uint64
	out                   io.Writer
	began                 time.Time
	saying                *sync.Mutex
	deliver               func(ctx context.Context, p backend.CallbackPayload) error // is told each callback; nil is nobody
	watchdog              time.Duration                                              // between two looks of the backend at a lease that is ready
}

func defaults() options {
	return options{
		docker: "unix:///var/run/docker.sock", pool: "10.229.0.0/16", leases: 20, atOnce: 4, kills: 20, every: 5 * time.Second, seed: 1,
		out: os.Stdout, began: time.Now(), saying: new(sync.Mutex), watchdog: 5 * time.Minute,
	}
}

// say prints one line of progress.
func (o options) say(format string, args ...any) {
	o.saying.Lock()
	defer o.saying.Unlock()
	_, _ = fmt.Fprintf(o.out, "%6.1fs %s\n", time.Since(o.began).Seconds(), fmt.Sprintf(format, args...))
}
