package memory

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/berth-cloud/berth/provider"
)

// FaultKind is what goes wrong with a call of a Provider to its Cluster, its
// StateStore or its vault.
type FaultKind int

// The kinds of faults.
const (
	// FailBefore fails the call, which had no effect.
	FailBefore FaultKind = iota + 1

	// FailAfter fails the call after its effect.
	FailAfter

	// Hang keeps the call, without an effect, until its context ends.
	Hang

	// CutBefore ends the Provider before the effect: this call and every later
	// one of it fail.
	CutBefore

	// CutAfter does so after the effect.
	CutAfter

	// Lie makes one look at the containers of an instance miss the first.
	Lie
)

// Fault is one thing that goes wrong once.
type Fault struct {
	// Call is which call it strikes, counted from 1 from when it is armed. Calls
	// with an effect count, for Hang also those without, and for Lie the looks
	// at containers.
	Call int
	Kind FaultKind
}

// Script arms a fault in the place of one that is armed, and returns how to disarm it,
// which tells whether it struck. Faults strike calls of every Provider on the
// Cluster.
func (c *Cluster) Script(f Fault) (disarm func() (struck bool)) {
	armed := &armedFault{Fault: f}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.armed = armed
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.faults.armed == armed {
			c.faults.armed = nil
		}
		return armed.struck
	}
}

// Calls counts the calls with an effect that were made so far.
func (c *Cluster) Calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults.calls
}

type faults struct {
	calls int
	armed *armedFault
}

type armedFault struct {
	Fault
	seen   int
	struck bool
}

// call is the class of a call.
type call int

const (
	effect call = iota
	read
	look
)

// strike counts a call and returns what is to go wrong with it; 0 is nothing.
func (c *Cluster) strike(class call) FaultKind {
	c.mu.Lock()
	defer c.mu.Unlock()
	if class == effect {
		c.faults.calls++
	}
	armed := c.faults.armed
	if armed == nil || armed.struck {
		return 0
	}
	if counts := class == effect && armed.Kind != Lie || armed.Kind == Hang || armed.Kind == Lie && class == look; !counts {
		return 0
	}
	armed.seen++
	if armed.seen != armed.Call {
		return 0
	}
	armed.struck = true
	return armed.Kind
}

// wire is what a Provider's calls go through.
type wire struct {
	cluster *Cluster
	dead    atomic.Bool
}

// do makes a call with an effect.
func (w *wire) do(ctx context.Context, what string, f func() error) error {
	kind, err := w.begin(ctx, effect, what)
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	if kind == CutAfter {
		w.dead.Store(true)
	}
	if kind == FailAfter || kind == CutAfter {
		return fmt.Errorf("%w: %s: the answer was lost, as a fault was to", provider.ErrUnavailable, what)
	}
	return nil
}

// ask makes a call without an effect. Of a look it says whether it is to lie.
func (w *wire) ask(ctx context.Context, class call, what string) (lie bool, err error) {
	kind, err := w.begin(ctx, class, what)
	return kind == Lie, err
}

// begin is what comes before the effect.
func (w *wire) begin(ctx context.Context, class call, what string) (FaultKind, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	if w.dead.Load() {
		return 0, fmt.Errorf("%w: %s: this provider was cut off", provider.ErrUnavailable, what)
	}
	kind := w.cluster.strike(class)
	switch kind {
	case Hang:
		<-ctx.Done()
		return kind, fmt.Errorf("%s: %w", what, ctx.Err())
	case CutBefore:
		w.dead.Store(true)
		return kind, fmt.Errorf("%w: %s: this provider was cut off", provider.ErrUnavailable, what)
	case FailBefore:
		return kind, fmt.Errorf("%w: %s: failed, as a fault was to", provider.ErrUnavailable, what)
	}
	return kind, nil
}
