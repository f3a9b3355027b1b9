package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/berth-cloud/berth/test/load"
)

// traffic is the load of a step.
type traffic struct {
	stop   context.CancelFunc
	report chan load.Report

	mu    sync.Mutex
	ever  map[string]bool // who answered, by container
	since time.Time       // from which nobody but those of only may
	only  map[string]bool // nil: anybody may
	heard int             // answers from then on
	wrong string          // the first of them that another one gave, or another version
	want  string          // the version
}

// load puts requests on the app until the end.
func (p *plane) load(ctx context.Context, onlyGet bool) *traffic {
	o := p.s.o
	ctx, cancel := context.WithCancel(ctx)
	t := &traffic{stop: cancel, report: make(chan load.Report, 1), ever: map[string]bool{}}
	c := load.Config{
		Addr: p.addr, Host: p.host(), Rate: int(float64(o.rate) * headroom), OnlyGet: onlyGet, Answered: t.answered, Opened: t.answered,
	}
	if !onlyGet {
		c.Slow, c.SlowFor, c.Streams, c.Sockets = o.slow, o.slowFor, o.streams, o.streams
	}
	go func() { t.report <- load.Run(ctx, c) }()
	return t
}

func (t *traffic) answered(began time.Time, by load.Origin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ever[by.Server] = true
	if t.only == nil || began.Before(t.since) {
		return
	}
	t.heard++
	if (!t.only[by.Server] || by.Version != t.want) && t.wrong == "" {
		t.wrong = fmt.Sprintf("%s of version %s answered a request that was made %v after only those of %s served",
			by.Server, by.Version, began.Sub(t.since), t.want)
	}
}

// proven waits until every replica there is has answered, and for a while of answers that
// nobody else gave. One that has an event stream and a WebSocket open may get nothing else.
func (t *traffic) proven(ctx context.Context, p *plane, a app) error {
	const hostNameLength, enough = 12, 20
	list, err := p.client.Containers(ctx, p.name)
	if err != nil {
		return err
	}
	only := map[string]bool{}
	for i := range list.Containers {
		if c := &list.Containers[i]; c.Traffic {
			only[c.ID[:min(len(c.ID), hostNameLength)]] = true
		}
	}
	if len(only) != a.replicas {
		return fmt.Errorf("%d replicas take requests, and %d shall", len(only), a.replicas)
	}
	t.mu.Lock()
	t.since, t.only, t.heard, t.wrong, t.want = time.Now(), only, 0, "", a.version
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		t.only = nil
		t.mu.Unlock()
	}()
	return until(ctx, "every replica answers", settlesWithin, func(context.Context) (string, error) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.wrong != "" {
			return "", errors.New(t.wrong)
		}
		var silent []string
		for id := range only {
			if !t.ever[id] {
				silent = append(silent, id)
			}
		}
		if len(silent) > 0 || t.heard < enough {
			return fmt.Sprintf("%d of %d never did (%s); %d answers", len(silent), len(only), silent, t.heard), nil
		}
		return "", nil
	})
}

// end takes the load off, and tells what became of it.
func (t *traffic) end() load.Report {
	t.stop()
	return <-t.report
}

// under does something under load.
func (x *runner) under(ctx context.Context, p *plane, what string, do func(*traffic) error) error {
	t := p.load(ctx, false)
	err := do(t)
	r := t.end()
	x.made.add(r)
	x.o.say("%s: %v", what, r)
	if err == nil && r.Rate < float64(x.o.rate) {
		err = fmt.Errorf("%.1f requests a second were made; %d are needed", r.Rate, x.o.rate)
	}
	return err
}
