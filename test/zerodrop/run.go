package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/controlclient"
	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/test/load"
)

const (
	// momentWithin is how long after the end of a change's drain the moment of its
	// kill may come.
	momentWithin = 15 * time.Second
	// restBetween bounds the rest after a change. It is short enough for the next
	// one to meet the last one's drain, and sometimes long enough not to.
	restBetween = 2 * time.Second
	// emptiesWithin bounds the wait for the last old container to go after its drain.
	emptiesWithin = time.Minute
)

// runner is one run on a stand.
type runner struct {
	*stand
	rng   *rand.Rand
	line  *line
	clock *clock
	hist  *history
	made  result
}

// run does all that the options ask for and cleans up.
func run(ctx context.Context, o options) (r result, err error) {
	o.say("seed %d, network pool %s", o.seed, o.pool)
	s, err := erect(ctx, o)
	if s != nil {
		defer func() {
			failed := err != nil || len(r.problems(o)) > 0
			err = errors.Join(err, s.tearDown(failed))
		}()
	}
	if err != nil {
		return r, err
	}
	o.say("berth %s serves on %s, files in %s", s.instance, s.addr, s.dir)
	x := &runner{stand: s, rng: rand.New(rand.NewPCG(o.seed, 0)), line: newLine(), clock: newClock(), hist: newHistory(o.replicas), made: result{kinds: map[kind]count{}}} //nolint:gosec // a repeatable choice is wanted
	return x.run(ctx)
}

// run deploys, puts the load on, makes the changes, and takes the load off once
// the last old container has gone.
func (x *runner) run(ctx context.Context) (result, error) {
	watch, unwatch := context.WithCancel(ctx)
	defer unwatch()
	go x.watchEngine(watch, x.clock)
	first := change{verb: "first", to: x.hist.now}
	x.line.begin(first.to.serves())
	if err := x.deploy(ctx, first); err != nil {
		return x.made, err
	}
	before, err := x.dataPlane(ctx)
	if err != nil {
		return x.made, err
	}
	loading, unload := context.WithCancel(ctx)
	defer unload()
	loaded := make(chan load.Report, 1)
	go func() { loaded <- load.Run(loading, x.load()) }()
	work := x.changes
	if x.o.crashes > 0 {
		work = x.crashes
	}
	err = work(ctx)
	unload()
	x.made.load = <-loaded
	x.made.kills = x.server.killed()
	x.made.wrong = append(x.made.wrong, x.line.faults()...)
	x.o.say("%v", x.made.load)
	if err != nil {
		return x.made, err
	}
	after, err := x.dataPlane(ctx)
	if err == nil && (after.PID != before.PID || after.Epoch != before.Epoch) {
		err = fmt.Errorf("the data plane is process %d and was %d: it did not live through this", after.PID, before.PID)
	}
	return x.made, err
}

func (x *runner) load() load.Config {
	c := load.Config{
		Addr: x.addr, Host: x.host(), Rate: int(float64(x.o.rate) * headroom),
		Slow: x.o.slow, SlowFor: x.o.slowFor, Streams: x.o.streams, Sockets: x.o.sockets,
		Answered: x.line.answered, Opened: x.line.opened, Ended: x.line.mayEnd,
	}
	if x.o.crashes > 0 {
		// What is open on a replica ends with it, whoever is in front, and a
		// request that may have had its effect is not sent a second time.
		c.Slow, c.Streams, c.Sockets, c.OnlyGet = 0, 0, 0, true
	}
	return c
}

// dataPlane asks the data plane who it is.
func (x *runner) dataPlane(ctx context.Context) (table.Hello, error) {
	c := controlclient.New(filepath.Join(x.dir, "data", "ingress", "control.sock"))
	defer c.Close()
	return c.Hello(ctx)
}

// changes makes all changes and kills.
func (x *runner) changes(ctx context.Context) error {
	if err := x.line.proven(ctx); err != nil {
		return err
	}
	steps := x.hist.steps(x.o.plan, x.o.changes)
	plan := planKills(x.rng, steps, x.o.kills)
	for _, c := range steps {
		killed := x.server.killed()
		if err := x.step(ctx, c, plan); err != nil {
			return fmt.Errorf("%v: %w", c, err)
		}
		x.made.count(c.kind(), x.server.killed()-killed)
		if !pause(ctx, upTo(x.rng, restBetween)) {
			return ctx.Err()
		}
	}
	return x.emptied(ctx)
}

// step is one change with the kill that is planned for it.
func (x *runner) step(ctx context.Context, c change, plan map[int]kill) error {
	killed := make(chan error, 1)
	waiting, done := context.WithCancel(ctx)
	defer done()
	if k, ok := plan[c.number]; ok {
		x.o.say("%v; the control plane is killed %v", c, k)
		moment := x.clock.next(k.at)
		go func() { killed <- x.server.carryOut(ctx, waiting, k, moment) }()
	} else {
		x.o.say("%v", c)
		killed <- nil
	}
	x.line.begin(c.to.serves())
	if err := x.deploy(ctx, c); err != nil {
		return err
	}
	if err := x.line.proven(ctx); err != nil {
		return err
	}
	giveUp := time.AfterFunc(x.o.drainTimeout()+momentWithin, done)
	defer giveUp.Stop()
	err := <-killed
	if errors.Is(err, errNoMoment) {
		x.o.say("%v: %v", c, err)
		return nil
	}
	return err
}

// deploy asks for a change and waits until it has succeeded.
func (x *runner) deploy(ctx context.Context, c change) error {
	ctx, cancel := context.WithTimeout(ctx, succeedsWithin)
	defer cancel()
	x.clock.strike(atRequest)
	id, err := x.request(ctx, c)
	if err != nil {
		return err
	}
	if err := x.follow(ctx, id, x.clock); err != nil {
		return err
	}
	replicas, err := x.serving(ctx, c.to.replicas)
	if err != nil {
		return err
	}
	x.line.serve(replicas)
	return nil
}

// emptied waits until the replicas of the last release are all there is.
func (x *runner) emptied(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, x.o.drainTimeout()+emptiesWithin)
	defer cancel()
	for {
		list, err := x.containers(ctx)
		if err == nil && len(list) == x.hist.now.containers() {
			return nil
		}
		if !pause(ctx, 200*time.Millisecond) {
			return errors.Join(fmt.Errorf("%d containers are left, and the release that serves has %d", len(list), x.hist.now.containers()), err)
		}
	}
}
