package machine

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of the wait before a program is started again. One that ran for steady
// begins with the least.
const (
	leastBackoff = 100 * time.Millisecond
	mostBackoff  = 5 * time.Second
	steady       = 30 * time.Second
	maxLog       = 4 << 20 // bytes, then a log begins anew
)

// service is a program that a machine keeps running.
type service struct {
	name    string
	argv    []string
	restart bool
	// grace is how long it may take to end after SIGTERM.
	grace time.Duration
	log   *os.File
	// own is the log of the one who keeps it.
	own *os.File
	// changed is told of every start, with the pid and the context of that run,
	// and of every end, with 0.
	changed func(run context.Context, pid int)
}

// keep runs the service until ctx ends, and then ends it.
func (s service) keep(ctx context.Context, r *reaper, logger *slog.Logger, now func() time.Time) {
	backoff := leastBackoff
	for ctx.Err() == nil {
		s.trim()
		began := now()
		s.once(ctx, r, logger)
		if !s.restart {
			return
		}
		if now().Sub(began) > steady {
			backoff = leastBackoff
		}
		if !rest(ctx, backoff) {
			return
		}
		backoff = min(2*backoff, mostBackoff)
	}
}

// once runs it once.
func (s service) once(ctx context.Context, r *reaper, logger *slog.Logger) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.argv[0], s.argv[1:]...)
	cmd.Env = []string{path}
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = s.log, s.log
	pid, ended, err := r.start(cmd)
	if err != nil {
		logger.Error("a program does not start", "program", s.name, "error", err)
		return
	}
	run, done := context.WithCancel(ctx)
	defer done()
	s.changed(run, pid)
	defer s.changed(run, 0)
	trim := time.NewTicker(time.Minute)
	defer trim.Stop()
	for {
		select {
		case ws := <-ended:
			logger.Warn("a program ended", "program", s.name, "code", ws.ExitStatus(), "signal", int(ws.Signal()))
			return
		case <-trim.C:
			s.trim()
		case <-ctx.Done():
			r.signal(pid, unix.SIGTERM)
			late := time.NewTimer(s.grace)
			defer late.Stop()
			select {
			case <-ended:
			case <-late.C:
				r.signal(pid, unix.SIGKILL)
				<-ended
			}
			return
		}
	}
}

// trim begins a log anew when it is too long; they are written by appending.
func (s service) trim() {
	for _, log := range []*os.File{s.log, s.own} {
		if info, err := log.Stat(); err == nil && info.Size() > maxLog {
			_ = log.Truncate(0)
		}
	}
}
