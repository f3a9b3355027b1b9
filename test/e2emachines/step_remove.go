package main

import (
	"context"
)

// remove deletes the app and the group, and tells what is left of them.
func (x *runner) remove(ctx context.Context, p *plane) error {
	if err := p.sees(ctx); err != nil {
		return err
	}
	if err := p.deleted(ctx); err != nil {
		return err
	}
	x.o.say("the app is gone")
	p.file.size = 0
	if err := p.file.write(); err != nil {
		return err
	}
	if x.o.brief { // a file is read at the start too, at once
		if err := p.server.crash(ctx); err != nil {
			return err
		}
	}
	// What is there all the same is counted as leaked.
	if err := p.steady(ctx, "the group is gone", 0, nil, nil); err != nil {
		if ctx.Err() != nil {
			return err
		}
		x.o.say("%v", err)
	}
	left, err := p.left(ctx)
	x.made.leaked = append(x.made.leaked, left...)
	x.o.say("the group is gone, %d things are left", len(left))
	return err
}
