package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/client"
)

// answersWithin bounds the start of a control plane.
const answersWithin = 30 * time.Second

// server is the control plane's process, one after the other.
type server struct {
	binary string
	args   []string
	log    *os.File
	client *client.Client

	mu    sync.Mutex
	cmd   *exec.Cmd
	ended chan struct{}
	kills int
}

// begin starts a process and does not wait until it answers. It ends with ctx
// at the latest.
func (s *server) begin(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cmd := exec.CommandContext(ctx, s.binary, s.args...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the control plane: %w", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	s.cmd, s.ended = cmd, ended
	return nil
}

// answers waits until the control plane serves its API.
func (s *server) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answersWithin)
	defer cancel()
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	for {
		_, err := s.client.Version(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New("the control plane ended by itself while it started")
		default:
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("the control plane does not answer: %w", err)
		}
	}
}

// kill ends the process with SIGKILL and waits until it is gone.
func (s *server) kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
		return errors.New("the control plane ended by itself")
	default:
	}
	if err := s.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill the control plane: %w", err)
	}
	<-s.ended
	s.kills++
	return nil
}

// end kills the process for good.
func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	_ = s.log.Close()
}

func (s *server) killed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kills
}

// carryOut makes one planned kill once its moment has come and starts the
// control plane again. errNoMoment: it had not come when waiting was done.
func (s *server) carryOut(ctx, waiting context.Context, k kill, moment <-chan struct{}) error {
	select {
	case <-moment:
	case <-waiting.Done():
		return errNoMoment
	}
	for _, delay := range []time.Duration{k.delay, k.again} {
		if delay == 0 {
			continue
		}
		if !pause(ctx, delay) {
			return ctx.Err()
		}
		if err := s.kill(); err != nil {
			return err
		}
		if !pause(ctx, k.down) {
			return ctx.Err()
		}
		if err := s.begin(ctx); err != nil {
			return err
		}
	}
	return s.answers(ctx)
}

var errNoMoment = errors.New("its moment did not come")
