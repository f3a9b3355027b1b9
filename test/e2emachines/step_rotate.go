package main

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/internal/wire"
)

// rotate changes the template, and watches that machines are replaced one at a time, each
// replacement being there before an old one goes.
func (x *runner) rotate(ctx context.Context, p *plane, a app) error {
	old, err := p.ready(ctx)
	if err != nil {
		return err
	}
	return x.under(ctx, p, "rotation", func(t *traffic) error {
		p.file.edition++
		if err := p.file.write(); err != nil {
			return err
		}
		last := ""
		check := func(all []wire.Machine) error {
			c := count(all)
			if now := c.String(); now != last {
				last = now
				x.o.say("machines: %s", now)
			}
			return oneAtATime(c, p.file.size)
		}
		if err := p.steady(ctx, "all machines are replaced", p.file.size, old, check); err != nil {
			return err
		}
		on, err := p.ready(ctx)
		if err != nil {
			return err
		}
		if err := p.settled(ctx, "the app is spread again", changesWithin, a, on); err != nil {
			return err
		}
		return t.proven(ctx, p, a)
	})
}

// oneAtATime says what a rotation must never come to.
func oneAtATime(c counts, size int) error {
	switch {
	case c["ready"] < size:
		return fmt.Errorf("fewer than %d machines are ready: %s", size, c)
	case c.there() > size+1:
		return fmt.Errorf("more than one machine is above %d: %s", size, c)
	case c["draining"]+c["deleting"] > 1:
		return fmt.Errorf("more than one machine goes at once: %s", c)
	}
	return nil
}
