package fake

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/instances/infra"
)

// Effect is what a fault does to a call.
type Effect int

// The effects. Those that are Permitted keep the contract; the lies at the end break
// it, and a caller has only to destroy nothing because of them.
const (
	// Fail ends the call before its effect, with Err or infra.ErrUnavailable.
	Fail Effect = iota
	// FailAfter lets it take effect and loses the answer: Err or infra.ErrAmbiguous.
	FailAfter
	// Hang waits for the end of the context, before the effect.
	Hang
	// HangAfter waits for it after the effect.
	HangAfter
	// Throttle answers with an infra.ThrottledError of Fault.For.
	Throttle
	// NoCapacity answers infra.ErrNoCapacity.
	NoCapacity
	// SlowBoot makes a created machine boot for Fault.For longer.
	SlowBoot
	// SlowDelete makes a deleted machine take Fault.For longer to be gone.
	SlowDelete
	// PartialDelete accepts the delete and leaves the machine stopped, until it
	// is deleted again.
	PartialDelete
	// Lag makes a list that of Fault.For ago, beside the cloud's own lag.
	Lag
	// ShiftPages makes a page begin with the end of the one before, backwards.
	ShiftPages

	// LieEmpty answers a list with an empty last page.
	LieEmpty
	// LieForeign puts the machines of others on a page.
	LieForeign
	// LieNotFound denies a machine that is there.
	LieNotFound
)

// Permitted are the effects that the contract permits.
func Permitted() []Effect {
	return []Effect{Fail, FailAfter, Hang, HangAfter, Throttle, NoCapacity, SlowBoot, SlowDelete, PartialDelete, Lag, ShiftPages}
}

// Fault is one line of a script.
type Fault struct {
	// Method is the name of the method; empty is every one.
	Method string
	// Instance is the id of the only instance it is about; empty is every one.
	Instance string
	// From and To are the first and the last call it strikes, of those that fit,
	// counted from 1 since it was scripted. From 0 is 1; To 0 is From; a To below
	// 0 is without end.
	From, To int
	Do       Effect
	Err      error         // for Fail and FailAfter
	For      time.Duration // for Throttle, SlowBoot, SlowDelete and Lag
}

type fault struct {
	Fault
	met int // calls that fitted
}

// Script adds faults to those there are. Of several that strike one call, the
// first one added decides.
func (c *Cloud) Script(faults ...Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range faults {
		f.From = max(f.From, 1)
		if f.To == 0 {
			f.To = f.From
		}
		c.faults = append(c.faults, &fault{Fault: f})
	}
}

// ClearFaults takes the script back.
func (c *Cloud) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
}

// Call is a call at one of its two sides.
type Call struct {
	Method     string
	InstanceID string
	// Number counts all calls of the cloud from 1.
	Number int
	// After is false before the effect and true after it.
	After bool
}

// OnCall sets what sees every call before and after it; nil takes it away. Its
// error ends the call there, with or without its effect, and is returned.
func (c *Cloud) OnCall(f func(context.Context, Call) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onCall = f
}

// strike counts a call and says which fault meets it. A nil fault is none.
func (c *Cloud) strike(method, instanceID string) (struck *Fault, number int, hook func(context.Context, Call) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[method]++
	c.calls[""]++
	for _, f := range c.faults {
		if f.Method != "" && f.Method != method || f.Instance != "" && f.Instance != instanceID {
			continue
		}
		f.met++
		if struck == nil && f.met >= f.From && (f.To < 0 || f.met <= f.To) {
			struck = &f.Fault
		}
	}
	return struck, c.calls[""], c.onCall
}

// call runs one method: hook, fault, effect, fault, hook.
func (c *Cloud) call(ctx context.Context, method, instanceID string, effect func(Fault) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	struck, number, hook := c.strike(method, instanceID)
	seen := func(after bool) error {
		if hook == nil {
			return nil
		}
		return hook(ctx, Call{method, instanceID, number, after})
	}
	if err := seen(false); err != nil {
		return err
	}
	f := Fault{Do: -1}
	if struck != nil {
		f = *struck
	}
	if err := before(ctx, f); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := effect(f); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := seen(true); err != nil {
		return err
	}
	if err := after(ctx, f); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

func before(ctx context.Context, f Fault) error {
	switch f.Do {
	case Fail:
		return orElse(f.Err, infra.ErrUnavailable)
	case Throttle:
		return &infra.ThrottledError{After: f.For}
	case NoCapacity:
		return infra.ErrNoCapacity
	case Hang:
		<-ctx.Done()
		return ctx.Err()
	case LieNotFound:
		return infra.ErrInstanceNotFound
	}
	return nil
}

func after(ctx context.Context, f Fault) error {
	switch f.Do {
	case FailAfter:
		return orElse(f.Err, infra.ErrAmbiguous)
	case HangAfter:
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}
