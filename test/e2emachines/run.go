package main

import (
	"context"
	"errors"
	"fmt"
)

// runner is one run on a stand.
type runner struct {
	*stand
	made result
}

// run does all that the options ask for and cleans up.
func run(ctx context.Context, o options) (r result, err error) {
	s, err := erect(ctx, o)
	x := &runner{stand: s}
	if s != nil {
		defer func() {
			r = x.made
			show := o.verbose || err != nil || len(r.problems(o)) > 0
			err = errors.Join(err, s.tearDown(ctx, show))
		}()
	}
	if err != nil {
		return r, err
	}
	if o.machines > 0 {
		if err := x.group(ctx); err != nil {
			return r, err
		}
	}
	if !o.vm {
		o.say("no virtual machine is booted: -vm=false")
		return r, nil
	}
	return r, x.virtual(ctx)
}

// group takes a group of machines, and an app on it, through its life.
func (x *runner) group(ctx context.Context) (err error) {
	p, err := x.begin(ctx, "ns", x.o.network, x.spaces())
	if err != nil {
		return err
	}
	defer func() {
		x.made.created, x.made.registered = x.made.created+len(p.seen), x.made.registered+p.seen.registered()
		x.made.kills += p.server.kills
	}()
	a := app{version: versions[0], replicas: x.o.replicas}
	if err := x.up(ctx, p, a); err != nil {
		return fmt.Errorf("come up: %w", err)
	}
	if a, err = x.change(ctx, p, a); err != nil {
		return fmt.Errorf("change: %w", err)
	}
	if !x.o.brief {
		if err := x.lose(ctx, p, a); err != nil {
			return fmt.Errorf("lose a machine: %w", err)
		}
		if err := x.rotate(ctx, p, a); err != nil {
			return fmt.Errorf("rotate: %w", err)
		}
		if err := x.shrink(ctx, p, a); err != nil {
			return fmt.Errorf("shrink: %w", err)
		}
	}
	if err := x.remove(ctx, p); err != nil {
		return fmt.Errorf("remove: %w", err)
	}
	return nil
}
