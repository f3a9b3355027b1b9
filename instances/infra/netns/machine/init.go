package machine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// agentGrace is how long the agent may take to end.
const agentGrace = 2 * time.Second

// life is a machine as its first process leads it.
type life struct {
	folder *os.Root
	spec   Spec
	logger *slog.Logger
	reaper *reaper
	engine engine
	// own is the log that logger writes.
	own *os.File

	mu    sync.Mutex
	state State
	// up is closed with the engine's first answer.
	up   chan struct{}
	once sync.Once
}

// live is the whole life of the machine in folder.
func live(folder string, stderr io.Writer) error {
	// The kernel drops a signal that the first process of a machine does not handle.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM, unix.SIGINT)
	start := os.NewFile(goFD, "go")
	_, err := io.ReadFull(start, make([]byte, 1))
	_ = start.Close()
	if err != nil {
		return errors.New("the launcher ended before the machine was recorded")
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	l := &life{
		folder: root, logger: slog.New(slog.NewTextHandler(stderr, nil)),
		reaper: newReaper(), engine: newEngine(), up: make(chan struct{}),
	}
	if err := ReadJSON(root, SpecFile, &l.spec); err != nil {
		return err
	}
	if err := l.mark(); err != nil {
		return err
	}
	l.change(func(s *State) { s.Phase = Booting })
	err = l.lead(folder, stop)
	l.change(func(s *State) {
		s.Phase = Stopped
		if err != nil {
			s.Phase, s.Error = Failed, err.Error()
		}
	})
	return err
}

// mark says that the machine's life has begun, which it does once.
func (l *life) mark() error {
	f, err := l.folder.OpenFile(StartedFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("begin the machine's life: %w", err)
	}
	return errors.Join(f.Close(), Sync(l.folder))
}

// lead furnishes the machine, and runs its programs until stop.
func (l *life) lead(folder string, stop <-chan os.Signal) error {
	engineLog, err := l.openLog("engine.log")
	if err != nil {
		return err
	}
	agentLog, err := l.openLog("agent.log")
	if err != nil {
		return err
	}
	l.own, err = l.openLog("init.log")
	if err != nil {
		return err
	}
	if err := furnish(folder, l.spec); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(l.spec.Hostname)); err != nil {
		return fmt.Errorf("name the machine: %w", err)
	}
	args, err := engineArgs(l.spec)
	if err != nil {
		return err
	}

	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGCHLD)
	go func() {
		for range ended {
			l.reaper.reap()
		}
	}()
	grace := time.Duration(l.spec.GraceSeconds) * time.Second
	engineCtx, endEngine := context.WithCancel(context.Background())
	defer endEngine()
	agentCtx, endAgent := context.WithCancel(context.Background())
	defer endAgent()
	var engineRuns, agentRuns sync.WaitGroup
	engineRuns.Go(func() {
		service{
			name: "engine", argv: append([]string{l.spec.Engine}, args...), restart: l.spec.RestartEngine,
			grace: grace, log: engineLog, own: l.own, changed: l.engineChanged,
		}.keep(engineCtx, l.reaper, l.logger, time.Now)
	})
	if len(l.spec.Agent) > 0 {
		agentRuns.Go(func() { l.runAgent(agentCtx, agentLog) })
	}
	<-stop
	l.change(func(s *State) { s.Phase = Stopping })
	endAgent()
	agentRuns.Wait()
	stopping, cancel := context.WithTimeout(context.Background(), grace+time.Second)
	l.engine.stopAll(stopping, grace)
	cancel()
	endEngine()
	engineRuns.Wait()
	return nil
}

func (l *life) openLog(name string) (*os.File, error) {
	return l.folder.OpenFile(LogDir+"/"+name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// runAgent keeps the agent running from the engine's first answer on.
func (l *life) runAgent(ctx context.Context, log *os.File) {
	select {
	case <-l.up:
	case <-ctx.Done():
		return
	}
	argv := append([]string{agentProgram}, l.spec.Agent[1:]...)
	service{
		name: "agent", argv: argv, restart: true, grace: agentGrace, log: log, own: l.own,
		changed: func(_ context.Context, pid int) {
			l.change(func(s *State) { s.Agent = next(s.Agent, pid) })
		},
	}.keep(ctx, l.reaper, l.logger, time.Now)
}

func next(p Part, pid int) Part {
	p.PID, p.Answers = pid, false
	if pid != 0 {
		p.Starts++
	}
	return p
}

// engineChanged notes a start or an end of the engine, and after a start waits
// for its answer, as long as it runs.
func (l *life) engineChanged(run context.Context, pid int) {
	l.change(func(s *State) { s.Engine = next(s.Engine, pid) })
	if pid == 0 {
		return
	}
	go func() {
		if l.engine.answers(run) != nil {
			return
		}
		l.change(func(s *State) {
			if s.Engine.PID != pid {
				return
			}
			s.Engine.Answers = true
			if s.Phase == Booting {
				s.Phase = Running
			}
		})
		l.once.Do(func() { close(l.up) })
	}()
}

// change changes the state and writes it down.
func (l *life) change(f func(s *State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(&l.state)
	if err := WriteJSON(l.folder, StateFile, l.state); err != nil {
		l.logger.Error("the state is not written", "error", err)
	}
}
