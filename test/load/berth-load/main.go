// Command berth-load puts load on one service until it is told to stop (SIGTERM
// or SIGINT) or its time is over, then prints what failed and a line of figures
// that ends with "N failed requests". It ends with 1 when something failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/berth-cloud/berth/test/load"
)

func main() {
	var c load.Config
	flag.StringVar(&c.Addr, "addr", "127.0.0.1:80", "host:port to dial")
	flag.StringVar(&c.Host, "host", "hello.localhost", "name to ask for")
	flag.IntVar(&c.Rate, "rate", 50, "plain requests a second")
	flag.IntVar(&c.Slow, "slow", 1, "clients that always have a slow request open")
	flag.DurationVar(&c.SlowFor, "slow-for", 5*time.Second, "how long a slow request takes")
	flag.IntVar(&c.Streams, "streams", 1, "event streams")
	flag.IntVar(&c.Sockets, "sockets", 1, "WebSockets")
	limit := flag.Duration("for", time.Minute, "when to stop at the latest")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	c.FirstAnswer = func() { fmt.Println("the first request was answered") }
	r := load.Run(ctx, c)
	for _, e := range r.Examples {
		fmt.Println(e)
	}
	fmt.Println(r)
	if r.Failed > 0 || len(r.Versions) == 0 {
		os.Exit(1)
	}
}
