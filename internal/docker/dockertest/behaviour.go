package dockertest

import (
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// Behaviour scripts what a container of an image does. The zero value runs
// until it is told to stop, listens on nothing and says nothing. All durations
// count from the start of the process.
type Behaviour struct {
	// Port is the TCP port the process listens on; 0 listens on nothing. It
	// need not be a port that anybody expects.
	Port int
	// StartDelay passes before the port listens.
	StartDelay time.Duration
	// HealthyAfter: until then every path answers 503. Paths takes precedence.
	HealthyAfter time.Duration
	// Paths gives the status of a path over time, in ascending order of After.
	// A path that is not listed, or before its first entry, answers 200.
	// "*" stands for every path that is not listed.
	Paths map[string][]StatusAt

	// StartError makes the start itself fail with this message.
	StartError string
	// Exit makes the process end by itself.
	Exit *Exit

	// IgnoreTerm: the stop signal does nothing, only the kill ends it.
	IgnoreTerm bool
	// StopTime passes between the stop signal and the end of the process.
	StopTime time.Duration
	// StopCode is the exit code after a stop signal.
	StopCode int

	// Log is what the process prints, in ascending order of After.
	Log []LogAt

	// Exec is what a command executed in the container does; nil finds no
	// program. It is called on the caller's goroutine without the engine's lock,
	// and may read its input and write its outputs as it goes.
	Exec func(ExecRun) ExecOutcome
	// Stats is what the process uses at an age; nil, and what it leaves zero,
	// is a small idle process. It is called under the engine's lock.
	Stats func(age time.Duration) docker.Stats
	// Dirs are directories of the image, which files can be copied into.
	Dirs []string

	// PerRun, when set, replaces the whole behaviour for one run. It is called
	// under the engine's lock and must not call the engine.
	PerRun func(Run) Behaviour
}

// StatusAt is the HTTP status of a path from After on. Status 0 accepts the
// request and never answers.
type StatusAt struct {
	After  time.Duration
	Status int
}

// Exit makes a process end by itself.
type Exit struct {
	After time.Duration
	Code  int
	OOM   bool // killed by the kernel; Code is then 137
	// Times bounds how many runs of a container end this way: 0 is all of
	// them, a crash loop; n is the first n.
	Times int
}

// LogAt is one line printed, without its line end. Text may hold line ends.
type LogAt struct {
	After  time.Duration
	Stream docker.Stream
	Text   string
}

// Run is one start of a container's process.
type Run struct {
	Number int                  // 0 for the first
	Spec   docker.ContainerSpec // shared with the engine; must not be changed
	// File reads a file that was put into the container or a volume of it.
	File func(path string) (docker.File, bool)
}

// Status is a behaviour for images that answer every path the same way.
func Status(port, status int) Behaviour {
	return Behaviour{Port: port, Paths: map[string][]StatusAt{"*": {{Status: status}}}}
}

// forRun resolves what is decided once a process starts.
func (b *Behaviour) forRun(r Run) *Behaviour {
	out := b
	if b.PerRun != nil {
		per := b.PerRun(r)
		out = &per
	}
	if out.Exit != nil && out.Exit.Times > 0 && r.Number >= out.Exit.Times {
		cp := *out
		cp.Exit = nil
		out = &cp
	}
	return out
}

// status is what a path answers at an age of the process; 0 is no answer.
func (b *Behaviour) status(path string, age time.Duration) int {
	steps, ok := b.Paths[path]
	if !ok {
		steps, ok = b.Paths["*"]
	}
	if !ok {
		if age < b.HealthyAfter {
			return 503
		}
		return 200
	}
	for _, s := range slices.Backward(steps) {
		if age >= s.After {
			return s.Status
		}
	}
	return 200
}
