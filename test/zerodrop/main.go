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
const limit = 20 * time.Minute

func main() {
	o := defaults()
	flag.StringVar(&o.docker, "docker", o.docker, "the engine's address")
	flag.StringVar(&o.pool, "network-pool", o.pool, "IPv4 prefix that app networks are cut from")
	flag.IntVar(&o.rate, "rate", o.rate, "plain requests a second that have to be achieved")
	flag.IntVar(&o.changes, "changes", o.changes, "changes that have to be made; the plan is carried out as often as they need")
	flag.IntVar(&o.kills, "kills", o.kills, "kills of the control plane that have to be made")
	flag.IntVar(&o.replicas, "replicas", o.replicas, "replicas of the service at first")
	flag.IntVar(&o.slow, "slow", o.slow, "clients that always have a slow request open")
	flag.DurationVar(&o.slowFor, "slow-for", o.slowFor, "how long a slow request takes")
	flag.IntVar(&o.streams, "streams", o.streams, "event streams")
	flag.IntVar(&o.sockets, "sockets", o.sockets, "WebSockets")
	flag.IntVar(&o.crashes, "crashes", 0, "kill a replica this often instead, and change nothing")
	flag.Uint64Var(&o.seed, "seed", o.seed, "seed of every choice")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "zerodrop:", err)
		cancel()
		stop()
		os.Exit(1)
	}
	problems := r.problems(o)
	for _, p := range problems {
		fmt.Println(p)
	}
	if o.crashes == 0 {
		fmt.Print(r.table(o.plan))
	}
	fmt.Println(r)
	if len(problems) > 0 {
		cancel()
		stop()
		os.Exit(1)
	}
}
