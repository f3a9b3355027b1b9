package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	answersWithin = 30 * time.Second
	stopsWithin   = 60 * time.Second
	logTail       = 8 << 10 // of what is shown when something went wrong
)

// process is the backend's process, one after the other.
type process struct {
	binary string
	args   []string
	log    *os.File

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of the end
}

func newProcess(logFile, binary string, args ...string) (*process, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	return &process{binary: binary, args: args, log: log}, nil
}

// begin starts a process and does not wait until it answers.
func (p *process) begin(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	cmd := exec.CommandContext(ctx, p.binary, p.args...)
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the backend: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.err = cmd.Wait()
	}()
	p.cmd, p.ended = cmd, ended
	return nil
}

// kill ends the process with SIGKILL and waits until it is gone. One that ended
// before is an error.
func (p *process) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.ended:
		return errors.New("the backend ended by itself")
	default:
	}
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill the backend: %w", err)
	}
	<-p.ended
	return nil
}

// stop asks the process to end, as an operator does.
func (p *process) stop() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	late := time.NewTimer(stopsWithin)
	defer late.Stop()
	select {
	case <-p.ended:
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("the backend did not end within %s of SIGTERM", stopsWithin)
	}
	return p.err
}

// close ends what still runs.
func (p *process) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	_ = p.log.Close()
}

// tail is the end of the log.
func (p *process) tail() string {
	b, err := os.ReadFile(p.log.Name())
	if err != nil {
		return err.Error()
	}
	return string(b[max(len(b)-logTail, 0):])
}
