package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

const tryAgain = 100 * time.Millisecond

// pause waits and says whether it did so to the end.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// until asks again and again until the answer is "", which is that nothing is missing. A
// control plane that is away is asked again too.
func until(ctx context.Context, what string, limit time.Duration, missing func(context.Context) (string, error)) error {
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := "nothing is known"
	for {
		now, err := missing(bounded)
		switch {
		case err == nil && now == "":
			return nil
		case err == nil:
			last = now
		case bounded.Err() == nil && !away(err):
			return fmt.Errorf("%s: %w", what, err)
		}
		if !pause(bounded, tryAgain) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%s: not within %v: %s", what, limit, last)
		}
	}
}

// away: nobody answered, or the one who did was killed while it answered, or does not lead
// yet.
func away(err error) bool {
	return errors.Is(err, client.ErrUnreachable) || client.IsProblem(err, wire.ProblemBusy)
}
