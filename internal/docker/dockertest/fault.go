package dockertest

import "slices"

// FaultKind is what the script does to a call.
type FaultKind string

// The kinds.
const (
	// FailBefore: the call fails and had no effect.
	FailBefore FaultKind = "fail-before"
	// FailAfter: the call had its effect, and then fails.
	FailAfter FaultKind = "fail-after"
	// Hang: the call answers nothing until its context is done. On a virtual
	// clock it returns context.DeadlineExceeded at once.
	Hang FaultKind = "hang"
	// Wedge: a start fails as if the engine had crashed in it, and the container
	// answers every later one with docker.ErrWedged. Other calls fail before.
	Wedge FaultKind = "wedge"
	// LieOnce: the call succeeds and says what is not so. A call that changes
	// something did nothing; a query answers as [Lie] says.
	LieOnce FaultKind = "lie-once"
)

// Lie is how a query about containers lies. Other lists leave out their last
// entry, an image is reported missing, a stream ends at once; Info and Stats
// never lie.
type Lie string

// The lies.
const (
	// LieStale answers as if the last change of any container had not been.
	LieStale Lie = ""
	// LieOmit leaves the newest match out of a list, and finds nothing.
	LieOmit Lie = "omit"
	// LieRunning says running of what is not.
	LieRunning Lie = "running"
)

// Fault is one entry of the fault script.
type Fault struct {
	// Call is the call it strikes; CallAny is every one.
	Call Call
	// Mutating, with CallAny, leaves queries alone.
	Mutating bool
	// Object, when set, leaves calls on other objects alone.
	Object string
	// Nth is which matching call it strikes, counted from the moment the fault
	// is scripted; 0 means 1, the next.
	Nth int
	// Times is how many calls in a row it strikes from there; 0 means 1.
	Times int
	Kind  FaultKind
	// Err is what FailBefore and FailAfter return; nil means docker.ErrUnavailable.
	Err error
	// Effect: a hanging call had its effect.
	Effect bool
	Lie    Lie
}

type fault = Fault

func (f *Fault) lies() bool { return f != nil && f.Kind == LieOnce }

type armedFault struct {
	Fault
	seen int
}

// Script adds faults. Of several that strike one call the first scripted does;
// the others count the call all the same.
func (e *Engine) Script(faults ...Fault) {
	e.clock.lock()
	defer e.clock.unlock()
	for _, f := range faults {
		f.Nth, f.Times = max(f.Nth, 1), max(f.Times, 1)
		e.faults = append(e.faults, &armedFault{Fault: f})
	}
}

// ClearScript drops the faults that have not struck and returns how many.
func (e *Engine) ClearScript() int {
	e.clock.lock()
	defer e.clock.unlock()
	n := len(e.faults)
	e.faults = nil
	return n
}

// nextFault counts a call and returns the fault that strikes it, or nil.
func (e *Engine) nextFault(name Call, object string) *fault {
	if len(e.faults) == 0 {
		return nil
	}
	var hit *fault
	spent := false
	for _, f := range e.faults {
		if !f.matches(name, object) {
			continue
		}
		f.seen++
		if f.seen >= f.Nth && hit == nil {
			hit = &f.Fault
		}
		spent = spent || f.seen >= f.Nth+f.Times-1
	}
	if spent {
		e.faults = slices.DeleteFunc(e.faults, func(f *armedFault) bool { return f.seen >= f.Nth+f.Times-1 })
	}
	return hit
}

func (f *Fault) matches(name Call, object string) bool {
	if f.Call != CallAny && f.Call != name {
		return false
	}
	if f.Mutating && !name.Mutates() {
		return false
	}
	return f.Object == "" || f.Object == object
}
