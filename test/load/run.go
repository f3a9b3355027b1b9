package load

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Run makes the traffic until ctx is done, lets what is in flight finish, and
// reports on all of it.
func Run(ctx context.Context, c Config) Report {
	t := newTally()
	var wg sync.WaitGroup
	spawn := func(n int, client func(context.Context, Config, *http.Client, *tally)) {
		for range n {
			wg.Go(func() {
				tr := c.transport()
				defer tr.CloseIdleConnections()
				client(ctx, c, &http.Client{Transport: once{tr}}, t)
			})
		}
	}
	spawn(1, plain)
	spawn(c.Slow, slow)
	spawn(c.Streams, stream)
	spawn(c.Sockets, socket)
	wg.Wait()
	return t.report()
}

// repeat calls one until ctx is done, more slowly while it fails.
func repeat(ctx context.Context, one func() error, failed func(error)) {
	for ctx.Err() == nil {
		if err := one(); err != nil {
			failed(err)
			rest(ctx, pauseAfterFailure)
		}
	}
}

func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
