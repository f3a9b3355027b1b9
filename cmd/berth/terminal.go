package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/berth-cloud/berth/internal/cli"
)

// terminal is the one that this process was started on.
type terminal struct{ in, out *os.File }

var _ cli.Terminal = terminal{}

// Raw implements cli.Terminal.
func (t terminal) Raw() (func(), error) {
	before, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(int(t.in.Fd()), before) }, nil
}

// Size implements cli.Terminal.
func (t terminal) Size() (width, height uint16) {
	w, h, err := term.GetSize(int(t.out.Fd()))
	if err != nil || w < 0 || h < 0 || w > 1<<16-1 || h > 1<<16-1 {
		return 0, 0
	}
	return uint16(w), uint16(h)
}

// Changes implements cli.Terminal.
func (t terminal) Changes(ctx context.Context) <-chan struct{} {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	out := make(chan struct{})
	go func() {
		defer close(out)
		defer signal.Stop(signals)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			select {
			case <-ctx.Done():
				return
			case out <- struct{}{}:
			}
		}
	}()
	return out
}

// Hidden implements cli.Terminal.
func (t terminal) Hidden() ([]byte, error) { return term.ReadPassword(int(t.in.Fd())) }
