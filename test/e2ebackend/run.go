package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// run is the whole of it. A result comes also with an error.
func run(ctx context.Context, o options) (*result, error) {
	r := &result{}
	s, err := erect(ctx, o)
	if s != nil {
		defer s.tearDown(ctx)
	}
	if err != nil {
		return r, err
	}
	o.say("the backend serves")
	stop, killed := make(chan struct{}), make(chan error, 1)
	go func() { killed <- s.killing(ctx, r, stop) }()
	s.hold(ctx, r)
	close(stop)
	if err := <-killed; err != nil {
		return r, err
	}
	r.leaked, err = s.end(ctx)
	if len(r.lost)+len(r.leaked) > 0 {
		o.say("the end of the backend's log:\n%s", s.daemon.tail())
	}
	return r, err
}

// end has the backend give up what is retained, ends it, and tells what is left.
func (s *stand) end(ctx context.Context) ([]string, error) {
	if err := s.settled(ctx, "leases", listed); err != nil {
		return nil, err
	}
	kept, err := retentions(ctx, s)
	if err != nil {
		return nil, err
	}
	s.o.say("all leases are given up; %d left something", len(kept))
	var left []string
	for range lastStarts {
		if left, err = s.onceMore(ctx); err != nil || len(left) == 0 {
			break
		}
		s.o.say("left after this start:\n%s", strings.Join(left, "\n"))
	}
	if err != nil {
		return left, err
	}
	fence, err := s.fence(ctx)
	return append(left, fence...), err
}

// lastStarts are how often the backend is started to finish what it was killed at, such as
// a callback of which it does not know that it came.
const lastStarts = 3

// onceMore starts the backend anew, lets it finish, ends it and tells what is left.
func (s *stand) onceMore(ctx context.Context) ([]string, error) {
	if err := s.restart(ctx); err != nil {
		return nil, err
	}
	if err := s.settled(ctx, "what is retained", retentions); err != nil {
		return nil, err
	}
	out, err := s.stillListed(ctx)
	if err != nil {
		return out, err
	}
	if err := s.daemon.stop(); err != nil {
		return out, err
	}
	left, err := s.left(ctx)
	return append(out, left...), err
}

// restart ends the backend as an operator does, and starts it once more, with no time for
// which anything is retained. What is remembered of the callbacks of a lease is kept for a second after the last one, and
// given up by the next start.
func (s *stand) restart(ctx context.Context) error {
	if err := s.daemon.stop(); err != nil {
		return err
	}
	if !pause(ctx, 2*time.Second) {
		return ctx.Err()
	}
	if err := errors.Join(s.retain(keepNot), s.daemon.begin(ctx)); err != nil {
		return err
	}
	if err := s.healthy(ctx); err != nil {
		return err
	}
	if !pause(ctx, time.Second) {
		return ctx.Err()
	}
	return nil
}

// hold takes all leases through their lives, some at once.
func (s *stand) hold(ctx context.Context, r *result) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	kinds, room := shapes(), make(chan struct{}, s.o.atOnce)
	var wg sync.WaitGroup
	for i := range s.o.leases {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			l := &life{stand: s, shape: kinds[i%len(kinds)], lease: uuid.NewString(), client: client}
			// The last ones go on until there were kills enough.
			more := func() bool { return i >= s.o.leases-s.o.atOnce && ctx.Err() == nil && r.killed() < s.o.kills }
			if err := l.run(ctx, r, more); err != nil {
				s.o.say("LOST %s %s: %v", l.shape.name, l.lease, err)
				r.lose("%s %s: %v", l.shape.name, l.lease, err)
				return
			}
			r.held()
		})
	}
	wg.Wait()
}

func (r *result) killed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kills
}

// killing kills the backend again and again until it is told to stop, and leaves one
// that runs. After some kills it waits until the backend answers, after others it
// kills it while it starts.
func (s *stand) killing(ctx context.Context, r *result, stop <-chan struct{}) error {
	if s.o.kills == 0 {
		<-stop
		return nil
	}
	rng := rand.New(rand.NewPCG(s.o.seed, 0)) //nolint:gosec // moments of kills, which a seed has to bring back
	for {
		wait := s.o.every/2 + time.Duration(rng.Int64N(int64(s.o.every)))
		if rng.IntN(5) == 0 {
			wait = time.Duration(rng.Int64N(int64(500 * time.Millisecond))) // while it starts
		}
		timer := time.NewTimer(wait)
		select {
		case <-stop:
			timer.Stop()
			return s.healthy(ctx)
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		if err := s.daemon.kill(); err != nil {
			return errors.Join(err, errors.New(s.daemon.tail()))
		}
		r.mu.Lock()
		r.kills++
		n := r.kills
		r.mu.Unlock()
		s.o.say("kill %d", n)
		if !pause(ctx, time.Duration(rng.Int64N(int64(300*time.Millisecond)))) {
			return ctx.Err()
		}
		if err := s.daemon.begin(ctx); err != nil {
			return err
		}
	}
}
