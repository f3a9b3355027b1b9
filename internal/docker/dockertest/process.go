package dockertest

import (
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// How an engine restarts a container: the waits double from the first to the
// last, and begin anew once a process ran for long.
const (
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = time.Minute
	longRun      = 10 * time.Second
)

// Exit codes an engine gives.
const (
	codeCannotRun = 127 // the command cannot be run
	codeNoStart   = 128 // network or ports refused
	codeKilled    = 137
)

// startProcess starts the process of a container that has none. What the
// engine refuses is also left in the container's exit state.
func (e *Engine) startProcess(c *container, by Actor) error {
	e.noteStale(c, true)
	if err := e.attach(c); err != nil {
		return e.startFailed(c, codeNoStart, err)
	}
	run := e.runOf(c, c.runs)
	process := c.image.behaviour.forRun(run)
	if process.StartError != "" {
		e.detach(c)
		return e.startFailed(c, codeCannotRun, fmt.Errorf("start container %q: %s: %w", c.spec.Name, process.StartError, docker.ErrInvalid))
	}
	c.runs++
	c.process, c.gone = process, make(chan struct{})
	c.status = docker.StatusRunning
	c.started = e.now()
	c.code, c.oom, c.errText = 0, false, ""
	c.beginLog()
	if x := process.Exit; x != nil {
		c.due = e.clock.at(c.started.Add(x.After), func() { e.ended(c, x.Code, x.OOM) })
	}
	e.record(c, DidStart, by)
	e.emit(c, docker.EventStart)
	return nil
}

// runOf describes a run to a script, which is called under the engine's lock.
func (e *Engine) runOf(c *container, number int) Run {
	return Run{Number: number, Spec: c.spec, File: func(path string) (docker.File, bool) { return e.file(c, path) }}
}

func (e *Engine) startFailed(c *container, code int, err error) error {
	if c.status != docker.StatusCreated {
		c.status = docker.StatusExited
	}
	c.code, c.errText = code, err.Error()
	return err
}

// requestStop sends the stop signal and arms the kill.
func (e *Engine) requestStop(c *container, kill time.Time) {
	e.noteStale(c, true)
	c.stoppedByUser = true
	e.record(c, DidStop, ByCall)
	if c.status == docker.StatusRestarting {
		c.due.cancel()
		c.status = docker.StatusExited
		return
	}
	c.kill.cancel()
	c.kill = e.clock.at(kill, func() { e.ended(c, codeKilled, false) })
	e.askToEnd(c)
}

// askToEnd is what the stop signal does.
func (e *Engine) askToEnd(c *container) {
	if c.process.IgnoreTerm || c.stopping {
		return
	}
	c.stopping = true
	end, code := e.now().Add(c.process.StopTime), c.process.StopCode
	if x := c.process.Exit; x != nil && c.started.Add(x.After).Before(end) {
		return // it ends by itself first
	}
	c.due.cancel()
	if !end.After(e.now()) {
		e.ended(c, code, false)
		return
	}
	c.due = e.clock.at(end, func() { e.ended(c, code, false) })
}

// ended is what happens when the process of a container is gone.
func (e *Engine) ended(c *container, code int, oom bool) {
	e.noteStale(c, true)
	e.finish(c, code, oom)
	if c.policy != docker.RestartUnlessStopped || c.stoppedByUser {
		return
	}
	switch {
	case c.backoff == 0 || c.finished.Sub(c.started) >= longRun:
		c.backoff = firstBackoff
	default:
		c.backoff = min(2*c.backoff, lastBackoff)
	}
	c.restarts++
	c.status = docker.StatusRestarting
	c.due = e.clock.at(c.finished.Add(c.backoff), func() { _ = e.startProcess(c, ByEngine) })
}

func (e *Engine) finish(c *container, code int, oom bool) {
	c.due.cancel()
	c.kill.cancel()
	c.stopping = false
	if oom {
		code = codeKilled
	}
	c.code, c.oom, c.finished = code, oom, e.now()
	c.status = docker.StatusExited
	c.process = nil
	close(c.gone)
	c.endLog(c.finished)
	e.detach(c)
	e.record(c, DidDie, ByEngine)
	if oom {
		e.emit(c, docker.EventOOM)
	}
	e.emit(c, docker.EventDie)
}

// endForShutdown ends a container as an engine does that shuts down.
func (e *Engine) endForShutdown(c *container) {
	e.noteStale(c, true)
	if c.status == docker.StatusRestarting {
		c.due.cancel()
		c.status = docker.StatusExited
		return
	}
	code := c.process.StopCode
	if c.process.IgnoreTerm {
		code = codeKilled
	}
	e.finish(c, code, false)
}

// Pause freezes a running container, as an operator may; nothing answers in it
// then. Its behaviour's times go on nevertheless. It reports whether one ran.
func (e *Engine) Pause(ref string) bool {
	return e.freeze(ref, docker.StatusRunning, docker.StatusPaused, docker.EventPause)
}

// Unpause ends a Pause and reports whether there was one.
func (e *Engine) Unpause(ref string) bool {
	return e.freeze(ref, docker.StatusPaused, docker.StatusRunning, docker.EventUnpause)
}

func (e *Engine) freeze(ref string, from, to docker.Status, event docker.EventAction) bool {
	e.clock.lock()
	defer e.clock.unlock()
	c, err := e.find(ref)
	if err != nil || c.status != from {
		return false
	}
	e.clock.changed = true
	e.noteStale(c, true)
	c.status = to
	e.emit(c, event)
	return true
}

// Kill ends a running container's process from outside, as the kernel or an
// operator would: its restart policy applies. It reports whether one ran.
func (e *Engine) Kill(ref string, code int, oom bool) bool {
	e.clock.lock()
	defer e.clock.unlock()
	c, err := e.find(ref)
	if err != nil || c.status != docker.StatusRunning {
		return false
	}
	e.clock.changed = true
	e.ended(c, code, oom)
	return true
}
