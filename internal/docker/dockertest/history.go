package dockertest

import (
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// Did is what happened.
type Did string

// What happens to containers, and to other objects.
const (
	DidCreate Did = "create"
	DidStart  Did = "start"
	DidStop   Did = "stop" // the stop signal; the end is a die
	DidDie    Did = "die"
	DidUpdate Did = "update"
	DidSignal Did = "signal" // KILL and the stop signal may be followed by a die
	DidExec   Did = "exec"   // once the command ended
	DidCopy   Did = "copy"   // files into it
	DidRemove Did = "remove"

	DidCreateVolume  Did = "create-volume"
	DidRemoveVolume  Did = "remove-volume"
	DidCreateNetwork Did = "create-network"
	DidRemoveNetwork Did = "remove-network"
	DidPull          Did = "pull"
	DidLoadImage     Did = "load-image"
)

// Actor is who did it.
type Actor string

// A caller of the runtime, or the engine by itself (a death, a restart).
const (
	ByCall   Actor = "call"
	ByEngine Actor = "engine"
)

// Mutation is one thing that happened. Labels and Mounts are shared with the
// engine and must not be changed.
type Mutation struct {
	At     time.Time
	Did    Did
	By     Actor
	ID     string // of a container
	Name   string // of the container, volume, network or image
	Labels map[string]string
	Mounts []docker.Mount
	Status docker.Status // of a container, afterwards
	Code   int           // of a die or an exec
	// Command is the command of an exec; of a signal its name.
	Command []string
	Paths   []string // in the container, of a copy
}

// Overlap is two running containers that hold one volume writable.
type Overlap struct {
	At            time.Time // when the second started
	Volume        string
	First, Second string // container names
}

// maxHistory bounds the history; the older half goes when it is full.
const maxHistory = 1 << 18

type history struct {
	all      []Mutation
	writers  map[string]map[*container]struct{} // by volume
	overlaps []Overlap
}

func newHistory() history {
	return history{writers: map[string]map[*container]struct{}{}}
}

func (h *history) add(m Mutation) {
	if len(h.all) == maxHistory {
		h.all = slices.Clone(h.all[maxHistory/2:])
	}
	h.all = append(h.all, m)
}

func (e *Engine) record(c *container, did Did, by Actor) {
	m := Mutation{At: e.now(), Did: did, By: by, ID: c.id, Name: c.spec.Name, Labels: c.spec.Labels, Mounts: c.spec.Mounts, Status: c.status}
	if did == DidDie {
		m.Code = c.code
	}
	e.history.add(m)
	if did == DidStart || did == DidDie {
		e.history.trackWriter(c, did == DidStart, m.At)
	}
}

func (e *Engine) recordExec(c *container, command []string, code int) {
	e.record(c, DidExec, ByCall)
	last := e.history.last()
	last.Command, last.Code = slices.Clone(command), code
}

func (e *Engine) recordCopy(c *container, paths []string) {
	e.record(c, DidCopy, ByCall)
	e.history.last().Paths = paths
}

func (e *Engine) recordSignal(c *container, name string) {
	e.record(c, DidSignal, ByCall)
	e.history.last().Command = []string{name}
}

func (h *history) last() *Mutation { return &h.all[len(h.all)-1] }

func (e *Engine) recordObject(did Did, name string, labels map[string]string) {
	e.history.add(Mutation{At: e.now(), Did: did, By: ByCall, Name: name, Labels: labels})
}

// trackWriter keeps who writes to which volume, so that an overlap is found
// when it happens, however long the history.
func (h *history) trackWriter(c *container, starts bool, at time.Time) {
	for _, m := range c.spec.Mounts {
		if m.Volume == "" || m.ReadOnly {
			continue
		}
		holders := h.writers[m.Volume]
		if !starts {
			delete(holders, c)
			if len(holders) == 0 {
				delete(h.writers, m.Volume)
			}
			continue
		}
		if holders == nil {
			holders = map[*container]struct{}{}
			h.writers[m.Volume] = holders
		}
		for other := range holders {
			if other != c {
				h.overlaps = append(h.overlaps, Overlap{At: at, Volume: m.Volume, First: other.spec.Name, Second: c.spec.Name})
			}
		}
		holders[c] = struct{}{}
	}
}

// History is what happened since the last reset, oldest first; of more than
// 262,144 mutations it keeps the newer half.
func (e *Engine) History() []Mutation {
	e.clock.lock()
	defer e.clock.unlock()
	return slices.Clone(e.history.all)
}

// ResetHistory forgets what happened, and the overlaps found so far. Who
// writes to which volume now is still known.
func (e *Engine) ResetHistory() {
	e.clock.lock()
	defer e.clock.unlock()
	e.history.all, e.history.overlaps = nil, nil
}

// WritersOverlap is every moment at which a container started with a writable
// volume that another running container held writable too.
func (e *Engine) WritersOverlap() []Overlap {
	e.clock.lock()
	defer e.clock.unlock()
	return slices.Clone(e.history.overlaps)
}

// touches is what a caller does to a container that exists.
var touches = map[Did]bool{
	DidStart: true, DidStop: true, DidUpdate: true, DidRemove: true, DidSignal: true, DidExec: true, DidCopy: true,
}

// TouchedWithout is every start, stop, update, remove, signal, exec and copy by
// a caller on a container that lacks the label, or has another value than a value not empty.
func (e *Engine) TouchedWithout(label, value string) []Mutation {
	e.clock.lock()
	defer e.clock.unlock()
	want := map[string]string{label: value}
	var out []Mutation
	for _, m := range e.history.all {
		if touches[m.Did] && m.By == ByCall && !carries(m.Labels, want) {
			out = append(out, m)
		}
	}
	return out
}
