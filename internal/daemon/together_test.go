package daemon

import (
	"context"
	"errors"
	"testing"
)

func TestPartsEndTogether(t *testing.T) {
	broken := errors.New("broken")
	waits := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	for name, c := range map[string]struct {
		run  func(ctx context.Context) error
		ends bool // the caller does
		says string
	}{
		"one fails":           {run: func(context.Context) error { return broken }, says: "second: broken"},
		"the caller is done":  {run: waits, ends: true},
		"one fails at an end": {run: func(ctx context.Context) error { <-ctx.Done(); return broken }, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := false
			err := Together(ctx, func(part Part) {
				part("first", func(ctx context.Context) error {
					err := waits(ctx)
					ended = true
					return err
				})
				part("second", c.run)
				if c.ends {
					cancel()
				}
			})
			if !ended {
				t.Error("a part is left")
			}
			if c.says == "" && err != nil || c.says != "" && (err == nil || err.Error() != c.says || !errors.Is(err, broken)) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}
