package dockertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// Call names a method of docker.Runtime or docker.ImageMover.
type Call string

// The calls. ExitState counts as an inspect. CallAny, in a fault, is every call.
const (
	CallAny           Call = ""
	CallInfo          Call = "info"
	CallCreate        Call = "create"
	CallStart         Call = "start"
	CallStop          Call = "stop"
	CallRemove        Call = "remove"
	CallSignal        Call = "signal"
	CallUpdate        Call = "update"
	CallInspect       Call = "inspect"
	CallList          Call = "list"
	CallLogs          Call = "logs"
	CallStats         Call = "stats"
	CallExec          Call = "exec"
	CallCopyInto      Call = "copy-into"
	CallEvents        Call = "events"
	CallImage         Call = "image"
	CallPull          Call = "pull"
	CallSaveImage     Call = "save-image"
	CallLoadImage     Call = "load-image"
	CallEnsureVolume  Call = "ensure-volume"
	CallListVolumes   Call = "list-volumes"
	CallRemoveVolume  Call = "remove-volume"
	CallVolumeSizes   Call = "volume-sizes"
	CallCreateNetwork Call = "create-network"
	CallListNetworks  Call = "list-networks"
	CallRemoveNetwork Call = "remove-network"
)

// Calls are all calls, in the order of docker.Runtime, with those of docker.ImageMover
// beside Pull.
func Calls() []Call {
	return []Call{
		CallInfo, CallCreate, CallStart, CallStop, CallSignal, CallRemove, CallUpdate, CallInspect, CallList, CallLogs,
		CallStats, CallExec, CallCopyInto, CallEvents,
		CallImage, CallPull, CallSaveImage, CallLoadImage, CallEnsureVolume, CallListVolumes, CallRemoveVolume, CallVolumeSizes,
		CallCreateNetwork, CallListNetworks, CallRemoveNetwork,
	}
}

// Mutates reports whether the call may change something.
func (c Call) Mutates() bool {
	switch c {
	case CallCreate, CallStart, CallStop, CallSignal, CallRemove, CallUpdate, CallExec, CallCopyInto, CallPull, CallLoadImage,
		CallEnsureVolume, CallRemoveVolume, CallCreateNetwork, CallRemoveNetwork:
		return true
	}
	return false
}

// CallRecord is one call that reached the engine.
type CallRecord struct {
	At     time.Time // when it returned
	Call   Call
	Object string // the container, image, volume or network as the caller named it
	Err    error
	Fault  FaultKind // what the script did to it; empty for nothing
}

// CutPoint is an instant just before or just after a call that changes
// something, as a process that dies there sees it.
type CutPoint struct {
	Call   Call
	Object string
	After  bool // after the effect, before the caller learns of it
}

// OnCall calls fn at every cut point, on the caller's goroutine and outside
// the engine's lock; nil calls nothing. fn may panic to end the caller there.
// It may call the engine but not move its clock.
func (e *Engine) OnCall(fn func(CutPoint)) {
	e.clock.lock()
	defer e.clock.unlock()
	e.onCall = fn
}

// call runs one call of the runtime: fault script, effect, log, cut points.
func (e *Engine) call(ctx context.Context, name Call, object string, effect func(*fault) error) error {
	mutates := name.Mutates()
	if mutates {
		e.cut(CutPoint{Call: name, Object: object})
	}
	err := e.locked(ctx, name, object, effect)
	if mutates {
		e.cut(CutPoint{Call: name, Object: object, After: true})
	}
	return err
}

func (e *Engine) locked(ctx context.Context, name Call, object string, effect func(*fault) error) (err error) {
	e.clock.lock()
	defer e.clock.unlock()
	rec := CallRecord{Call: name, Object: object}
	defer func() {
		rec.At, rec.Err = e.now(), err
		e.log.add(rec)
	}()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", name, object, err)
	}
	f := e.nextFault(name, object)
	if f != nil {
		rec.Fault = f.Kind
	}
	if e.down {
		return fmt.Errorf("%s %s: %w", name, object, docker.ErrUnavailable)
	}
	if f == nil || f.Kind == LieOnce {
		err = effect(f)
	} else {
		err = e.inject(ctx, f, func() error { return effect(f) })
		if f.Kind == Wedge && name == CallStart {
			e.wedge(object)
		}
		err = fmt.Errorf("%s %s: %w", name, object, err)
	}
	if name.Mutates() {
		e.clock.changed = true
	}
	return err
}

// inject performs a call that fails or hangs.
func (e *Engine) inject(ctx context.Context, f *fault, effect func() error) error {
	if f.Kind == FailAfter || (f.Kind == Hang && f.Effect) {
		if err := effect(); err != nil {
			return err // it failed by itself first
		}
	}
	if f.Kind != Hang {
		if f.Err != nil {
			return f.Err
		}
		return docker.ErrUnavailable
	}
	if e.clock.wall {
		never := e.now().Add(24 * time.Hour)
		_ = e.clock.await(ctx, never, func() bool { return false })
	}
	return errors.Join(docker.ErrUnavailable, context.DeadlineExceeded)
}

func (e *Engine) cut(p CutPoint) {
	e.clock.lock()
	fn := e.onCall
	e.clock.unlock()
	if fn != nil {
		fn(p)
	}
}

// maxCalls bounds the call log; the older half goes when it is full.
const maxCalls = 1 << 16

// callLog is what was called, newest last.
type callLog struct {
	records []CallRecord
	counts  map[Call]int
}

func (l *callLog) add(r CallRecord) {
	if len(l.records) == maxCalls {
		l.records = slices.Clone(l.records[maxCalls/2:])
	}
	l.records = append(l.records, r)
	if l.counts == nil {
		l.counts = map[Call]int{}
	}
	l.counts[r.Call]++
}

// Calls returns the log of calls since the last reset, oldest first; of more
// than 65,536 it keeps the newer half.
func (e *Engine) Calls() []CallRecord {
	e.clock.lock()
	defer e.clock.unlock()
	return slices.Clone(e.log.records)
}

// CallCount is how often a call was made since the last reset; CallAny counts all.
func (e *Engine) CallCount(name Call) int {
	e.clock.lock()
	defer e.clock.unlock()
	if name != CallAny {
		return e.log.counts[name]
	}
	n := 0
	for _, k := range e.log.counts {
		n += k
	}
	return n
}

// ResetCalls empties the call log.
func (e *Engine) ResetCalls() {
	e.clock.lock()
	defer e.clock.unlock()
	e.log = callLog{}
}
