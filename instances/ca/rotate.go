package ca

import (
	"context"
	"slices"
	"time"
)

// Rotate begins to replace the authority that signs: another one is made and trusted
// from now on. Advance does the rest. While one is on its way nothing more happens.
func (a *Authority) Rotate(ctx context.Context) error {
	if err := a.change(ctx, a.prepare(ctx)); err != nil {
		return err
	}
	return a.Refresh(ctx)
}

func (a *Authority) prepare(ctx context.Context) func(*bundle) (bool, error) {
	return func(b *bundle) (bool, error) {
		if b.at(stageActive) == nil || b.at(stageNext) != nil {
			return false, nil
		}
		m, err := a.make(ctx, stageNext)
		if err != nil {
			return false, err
		}
		b.Members = append(b.Members, m)
		return true, nil
	}
}

// overlap is after which time everybody has asked for a certificate again, and with
// it heard of the authorities there are.
func (a *Authority) overlap() time.Duration { return a.opts.LeafTTL + a.opts.Skew }

// Advance does what is due: it makes a new authority at two thirds of the life of the
// one that signs, lets it sign when everybody has heard of it, and drops one whose
// last certificate has ended. It is called now and then, by the leader. A key that is
// no longer needed is removed after the certificate is out of the bundle.
func (a *Authority) Advance(ctx context.Context) error {
	var dropped []string
	err := a.change(ctx, func(b *bundle) (bool, error) {
		dropped = nil
		now := a.opts.Now().UTC()
		active, next := b.at(stageActive), b.at(stageNext)
		if active == nil {
			return false, nil
		}
		life := active.parsed.NotAfter.Sub(active.parsed.NotBefore)
		switch {
		case next != nil && now.Sub(next.Since) >= a.overlap():
			active.Stage, active.Since = stageOld, now
			next.Stage, next.Since = stageActive, now
			return true, nil
		case next == nil && now.After(active.parsed.NotBefore.Add(life*2/3)):
			return a.prepare(ctx)(b)
		}
		before := len(b.Members)
		b.Members = slices.DeleteFunc(b.Members, func(m member) bool {
			out := m.Stage == stageOld && now.Sub(m.Since) >= a.overlap()
			if out {
				dropped = append(dropped, m.ID)
			}
			return out
		})
		return len(b.Members) != before, nil
	})
	if err != nil {
		return err
	}
	for _, id := range dropped {
		if err := a.opts.Secrets.Delete(ctx, keyName(id)); err != nil {
			return err
		}
	}
	return a.Refresh(ctx)
}
