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

// limit bounds a whole run, whatever was asked for.
const limit = 8 * time.Minute

func main() {
	o := defaults()
	flag.StringVar(&o.docker, "docker", o.docker, "the engine's address")
	flag.StringVar(&o.berthd, "berthd", o.berthd, "the daemon under test; built from the checkout when empty")
	flag.StringVar(&o.node, "berth-node", o.node, "the data plane; built from the checkout when empty")
	flag.StringVar(&o.pool, "network-pool", o.pool, "IPv4 prefix that networks of leases are cut from")
	flag.IntVar(&o.leases, "leases", o.leases, "leases that have to be held")
	flag.IntVar(&o.atOnce, "at-once", o.atOnce, "leases that are held at once")
	flag.IntVar(&o.kills, "kills", o.kills, "kills of the backend that have to be made")
	flag.DurationVar(&o.every, "every", o.every, "mean time between two kills")
	flag.Uint64Var(&o.seed, "seed", o.seed, "seed of every choice")
	flag.Usage = func() {
		_, _ = fmt.Fprint(flag.CommandLine.Output(), "e2ebackend holds leases of a real backend while it is killed.\n\n")
		flag.PrintDefaults()
	}
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	code := 0
	r, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2ebackend:", err)
		code = 1
	}
	for _, p := range r.problems(o) {
		fmt.Println(p)
		code = 1
	}
	fmt.Println(r)
	cancel()
	stop()
	os.Exit(code)
}
