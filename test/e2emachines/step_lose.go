package main

import (
	"context"
	"errors"

	"github.com/berth-cloud/berth/instances/infra/netns"
)

// lose kills a machine, as a loss of power does, and waits until another one has its
// place.
func (x *runner) lose(ctx context.Context, p *plane, a app) error {
	on, err := p.ready(ctx)
	if err != nil {
		return err
	}
	made, err := p.provider(ctx)
	if err != nil {
		return err
	}
	spaces, ok := made.(*netns.Provider)
	if !ok {
		return errors.New("these machines cannot be killed")
	}
	t := p.load(ctx, true)
	err = x.loseOne(ctx, p, a, spaces, on[0], t)
	r := t.end()
	x.made.died, x.made.lost = x.made.died+r.Requests, x.made.lost+r.Failed
	x.o.say("while a machine died: %v", r)
	for _, e := range r.Examples {
		x.o.say("while a machine died: %s", e)
	}
	return err
}

func (x *runner) loseOne(ctx context.Context, p *plane, a app, spaces *netns.Provider, id string, t *traffic) error {
	if err := t.proven(ctx, p, a); err != nil {
		return err
	}
	x.o.say("%s is killed", id)
	if err := spaces.KillMachine(ctx, id); err != nil {
		return err
	}
	if err := p.steady(ctx, "the machine is replaced", p.file.size, []string{id}, nil); err != nil {
		return err
	}
	x.o.say("it is replaced")
	on, err := p.ready(ctx)
	if err != nil {
		return err
	}
	if err := p.settled(ctx, "the app is whole again", changesWithin, a, on); err != nil {
		return err
	}
	if err := t.proven(ctx, p, a); err != nil {
		return err
	}
	x.o.say("%d replicas are spread over the living ones", a.replicas)
	return nil
}
