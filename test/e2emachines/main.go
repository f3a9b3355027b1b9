package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// limit bounds a whole run.
const limit = 6 * time.Minute

// options are what a run is told.
type options struct {
	node     string // berth-node; built from the checkout when empty
	machines int
	pool     string // IPv4 prefix that machines' ranges are cut from
	address  string // that machines reach the server at; put on the loopback device for the run
	verbose  bool
}

func defaults() options {
	return options{machines: 3, pool: "10.233.0.0/20", address: "10.233.240.1"}
}

func main() {
	o := defaults()
	flag.StringVar(&o.node, "berth-node", o.node, "the agent; built from the checkout when empty")
	flag.IntVar(&o.machines, "machines", o.machines, "how many machines")
	flag.StringVar(&o.pool, "pool", o.pool, "IPv4 prefix that machines' ranges are cut from")
	flag.StringVar(&o.address, "address", o.address, "IPv4 address of the server, which nothing else uses")
	flag.BoolVar(&o.verbose, "v", o.verbose, "print the log of the shard")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	r, err := run(ctx, o)
	cancel()
	stop()
	code := 0
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2emachines:", err)
		code = 1
	}
	for _, l := range r.leaked {
		fmt.Println("leaked:", l)
	}
	fmt.Println(r)
	if r.registered != o.machines || len(r.leaked) > 0 || r.failed > 0 {
		code = 1
	}
	os.Exit(code)
}

// result is what a run counted.
type result struct {
	created, registered int
	leaked              []string
	failed              int // requests
}

func (r result) String() string {
	return fmt.Sprintf("machines: %d created, %d registered, %d leaked, %d failed requests", r.created, r.registered, len(r.leaked), r.failed)
}
