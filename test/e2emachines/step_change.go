package main

import (
	"context"
	"fmt"
	"sync"
)

// moments are the phases of a change in which the control plane is killed, one after the
// other; "" is at once after it was asked for.
var moments = []string{"probe", "", "cutover", "drain"}

// change goes from version to version under load.
func (x *runner) change(ctx context.Context, p *plane, a app) (app, error) {
	on, err := p.ready(ctx)
	if err != nil {
		return a, err
	}
	return a, x.under(ctx, p, "changes", func(t *traffic) error {
		for i := range x.o.changes {
			a.version, a.rolling = versions[(i+1)%len(versions)], i%2 == 1
			kill := p.server.kills < x.o.kills
			if err := x.changeOnce(ctx, p, a, kill, moments[i%len(moments)]); err != nil {
				return fmt.Errorf("change %d: %w", i+1, err)
			}
			if err := p.settled(ctx, "the change is done", settlesWithin, a, on); err != nil {
				return fmt.Errorf("change %d: %w", i+1, err)
			}
			if err := t.proven(ctx, p, a); err != nil {
				return fmt.Errorf("change %d: %w", i+1, err)
			}
			x.o.say("change %d of %d to %s is made (rolling: %t, control plane killed: %t)", i+1, x.o.changes, a.version, a.rolling, kill)
		}
		return nil
	})
}

// changeOnce makes a change, and kills the control plane at its moment or, if that does
// not come, at its end.
func (x *runner) changeOnce(ctx context.Context, p *plane, a app, kill bool, at string) error {
	id, err := p.apply(ctx, a)
	if err != nil {
		return err
	}
	moment := make(chan struct{})
	strike := sync.OnceFunc(func() { close(moment) })
	killed := make(chan error, 1)
	go func() {
		<-moment
		if !kill {
			killed <- nil
			return
		}
		killed <- p.server.crash(ctx)
	}()
	if at == "" {
		strike()
	}
	err = p.follow(ctx, id, func(phase string) {
		if phase == at {
			strike()
		}
	})
	strike()
	if err2 := <-killed; err2 != nil {
		return err2
	}
	return err
}
