package memory

import (
	"context"

	"github.com/berth-cloud/berth/id"
)

// What follows works on containers that nobody has a record of: their labels say
// what they are.

// stopBare ends every container.
func (p *Provider) stopBare(ctx context.Context, instance id.ID) error {
	all, err := p.look(ctx, instance)
	if err != nil {
		return err
	}
	return p.end(ctx, all)
}

// startBare starts every container that was told to end, in order. It returns when
// all of them run.
func (p *Provider) startBare(ctx context.Context, instance id.ID) error {
	for {
		rec, all, err := p.observe(ctx, instance)
		if err != nil {
			return err
		}
		m, up := p.members(rec, rec.Serving, rec.ServingTurn, all), true
		for replica := range rec.Replicas {
			done, err := p.bringUp(ctx, rec, m.group(replica), true)
			if err != nil {
				return err
			}
			up = up && done
		}
		if up {
			return nil
		}
		if err := pause(ctx, poll, p.cluster.change()); err != nil {
			return err
		}
	}
}
