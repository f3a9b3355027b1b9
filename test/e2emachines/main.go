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
const limit = 25 * time.Minute

func main() {
	o := defaults()
	flag.StringVar(&o.docker, "docker", o.docker, "the engine's address")
	flag.StringVar(&o.pool, "pool", o.pool, "IPv4 prefix that machines' ranges are cut from")
	flag.StringVar(&o.network, "network-pool", o.network, "IPv4 prefix that app networks are cut from")
	flag.StringVar(&o.address, "address", o.address, "IPv4 address of the server, which nothing else uses")
	flag.IntVar(&o.machines, "machines", o.machines, "machines of the group; 0 leaves all out but the virtual one")
	flag.IntVar(&o.replicas, "replicas", o.replicas, "replicas of the app, a multiple of the machines")
	flag.IntVar(&o.changes, "changes", o.changes, "changes of the app under load")
	flag.IntVar(&o.kills, "kills", o.kills, "kills of the control plane, at most one in a change")
	flag.IntVar(&o.rate, "rate", o.rate, "plain requests a second that have to be achieved")
	flag.BoolVar(&o.vm, "vm", o.vm, "boot a virtual machine at the end")
	flag.BoolVar(&o.verbose, "v", o.verbose, "show the ends of the logs even when all is well")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	r, err := run(ctx, o)
	cancel()
	stop()
	code := 0
	if err != nil {
		fmt.Println("e2emachines:", err)
		code = 1
	}
	for _, p := range r.problems(o) {
		fmt.Println(p)
		code = 1
	}
	fmt.Println(r)
	os.Exit(code)
}
