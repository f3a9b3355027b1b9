package main

import (
	"context"
)

// shrink makes the group one machine, to which all of the app has to come.
func (x *runner) shrink(ctx context.Context, p *plane, a app) error {
	return x.under(ctx, p, "down to one machine", func(t *traffic) error {
		p.file.size = 1
		if err := p.file.write(); err != nil {
			return err
		}
		if err := p.steady(ctx, "one machine is left", 1, nil, nil); err != nil {
			return err
		}
		on, err := p.ready(ctx)
		if err != nil {
			return err
		}
		if err := p.settled(ctx, "the app is on it", changesWithin, a, on); err != nil {
			return err
		}
		return t.proven(ctx, p, a)
	})
}
