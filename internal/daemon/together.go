package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Part begins one of the things that a daemon does at the same time. The context that it
// runs with ends when all have to.
type Part func(name string, run func(ctx context.Context) error)

// Together runs the parts that begin hands over until ctx is done or one fails, then ends
// the others. It returns the error of the one that failed, nil when ctx was done.
func Together(ctx context.Context, begin func(part Part)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	begin(func(name string, run func(ctx context.Context) error) {
		wg.Go(func() {
			if err := run(ctx); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("%s: %w", name, err))
			}
		})
	})
	<-ctx.Done()
	wg.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
