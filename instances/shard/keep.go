package shard

import (
	"context"
	"errors"
	"time"

	"github.com/berth-cloud/berth/instances/ca"
)

// keepTimeout bounds one look at what is kept.
const keepTimeout = 20 * time.Second

// keep reads again, until ctx is done, what others may have changed: which authorities
// there are, and which certificates are denied. Whoever leads also does what is due for
// the authority.
func (s *Shard) keep(ctx context.Context) {
	tick := time.NewTicker(s.opts.KeepEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := s.keepOnce(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			s.log.WarnContext(ctx, "what other servers changed of authorities and denied certificates is not known; it is read again and again", "error", err)
		}
		failing = err != nil
	}
}

func (s *Shard) keepOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()
	look := s.Authority.Refresh
	if s.leads() {
		look = s.Authority.Advance
	}
	err := look(ctx)
	if errors.Is(err, ca.ErrContended) {
		err = s.Authority.Refresh(ctx)
	}
	return errors.Join(err, s.Manager.RefreshDenied(ctx))
}

func (s *Shard) leads() bool {
	if s.elector == nil {
		return true
	}
	_, ok := s.elector.Term()
	return ok
}
