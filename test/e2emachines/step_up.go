package main

import (
	"context"
)

// up waits for the group, and spreads the app over it.
func (x *runner) up(ctx context.Context, p *plane, a app) error {
	x.o.say("%d machines are to come up; control plane in %s, data plane at %s", p.file.size, p.dir, p.addr)
	if err := p.steady(ctx, "the group is ready", p.file.size, nil, nil); err != nil {
		return err
	}
	x.o.say("%d machines are ready", p.file.size)
	id, err := p.apply(ctx, a)
	if err != nil {
		return err
	}
	if err := p.follow(ctx, id, func(string) {}); err != nil {
		return err
	}
	on, err := p.ready(ctx)
	if err != nil {
		return err
	}
	if err := p.settled(ctx, "the app is spread", settlesWithin, a, on); err != nil {
		return err
	}
	x.o.say("%d replicas are spread over them", a.replicas)
	return nil
}
