package dockertest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// maxLogRuns bounds of how many runs a container's log is kept, as rotation does.
const maxLogRuns = 64

// logRun is what one run of the process prints; lines are made when read.
type logRun struct {
	script []LogAt
	start  time.Time
	end    time.Time // zero while it runs
}

func (c *container) beginLog() {
	if len(c.logs) == maxLogRuns {
		c.logs = append(c.logs[:0:0], c.logs[1:]...)
		c.dropped++
	}
	c.logs = append(c.logs, logRun{script: c.process.Log, start: c.started})
}

func (c *container) endLog(at time.Time) { c.logs[len(c.logs)-1].end = at }

// lines returns what was printed until now, and when the next line is due.
func (r *logRun) lines(now time.Time) (out []docker.LogLine, next time.Time) {
	if !r.end.IsZero() && r.end.Before(now) {
		now = r.end
	}
	for _, l := range r.script {
		at := r.start.Add(l.After)
		if at.After(now) {
			if r.end.IsZero() {
				next = at
			}
			break
		}
		stream := l.Stream
		if stream == "" {
			stream = docker.Stdout
		}
		for text := range strings.SplitSeq(strings.TrimSuffix(l.Text, "\n"), "\n") {
			for len(text) > docker.MaxLogLine {
				out = append(out, docker.LogLine{Time: at, Stream: stream, Text: text[:docker.MaxLogLine], Partial: true})
				text = text[docker.MaxLogLine:]
			}
			out = append(out, docker.LogLine{Time: at, Stream: stream, Text: text})
		}
	}
	return out, next
}

// Logs implements docker.Runtime. Following ends with the run of the process.
func (e *Engine) Logs(ctx context.Context, ref string, opts docker.LogOptions, fn func(docker.LogLine) error) error {
	r := logReader{e: e, opts: opts}
	err := e.call(ctx, CallLogs, ref, func(f *fault) (err error) {
		r.c, err = e.find(ref)
		r.ended = f.lies()
		r.epoch = e.epoch
		return err
	})
	if err != nil {
		return err
	}
	e.clock.lock()
	wake := e.clock.waker()
	e.clock.unlock()
	defer func() {
		e.clock.lock()
		delete(e.clock.wakers, wake)
		e.clock.unlock()
	}()
	for {
		lines, more, err := r.read()
		for _, l := range lines {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := fn(l); err != nil {
				return err
			}
		}
		if err != nil || !more {
			return err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// logReader is the place of one caller in a container's log.
type logReader struct {
	e     *Engine
	c     *container
	opts  docker.LogOptions
	epoch int
	ended bool
	begun bool
	run   int // absolute number of the run read last
	line  int // lines of it already read
	alarm *timer
}

// read returns the lines since the last read and whether there may be more.
func (r *logReader) read() (out []docker.LogLine, more bool, err error) {
	r.e.clock.lock()
	defer r.e.clock.unlock()
	r.alarm.cancel()
	if r.ended {
		return nil, false, nil
	}
	if r.begun && r.epoch != r.e.epoch {
		return nil, false, fmt.Errorf("log stream broke: %w", docker.ErrUnavailable)
	}
	now := r.e.now()
	var next time.Time
	for i := range r.c.logs {
		number := r.c.dropped + i
		if r.begun && number < r.run {
			continue
		}
		var lines []docker.LogLine
		lines, next = r.c.logs[i].lines(now)
		if !r.begun || number > r.run {
			r.line = 0
		}
		all := len(lines)
		lines = lines[min(r.line, all):]
		r.run, r.line = number, all
		out = append(out, r.selected(lines)...)
		if r.begun && !r.c.logs[i].end.IsZero() {
			break // following ends with this run
		}
	}
	if r.opts.Tail > 0 && !r.begun && len(out) > r.opts.Tail {
		out = out[len(out)-r.opts.Tail:]
	}
	following := r.opts.Follow && r.c.status == docker.StatusRunning &&
		(!r.begun || r.run == r.c.dropped+len(r.c.logs)-1)
	r.begun = true
	if until := r.opts.Until; !until.IsZero() && !now.Before(until) {
		following = false
	}
	if following && !next.IsZero() {
		r.alarm = r.e.clock.at(next, func() {})
	}
	return out, following, nil
}

func (r *logReader) selected(lines []docker.LogLine) []docker.LogLine {
	out := lines[:0]
	for _, l := range lines {
		if l.Time.Before(r.opts.Since) || (!r.opts.Until.IsZero() && l.Time.After(r.opts.Until)) {
			continue
		}
		out = append(out, l)
	}
	return out
}
