package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/berth-cloud/berth/internal/client"
)

const (
	// answersWithin bounds the start of a control plane.
	answersWithin = 60 * time.Second
	// down is how long nobody is there after a kill.
	down = 500 * time.Millisecond
)

// server is the control plane's process, one after the other. One goroutine at a time
// uses it.
type server struct {
	binary string
	args   []string
	log    *os.File
	client *client.Client

	cmd   *exec.Cmd
	ended chan struct{}
	kills int
}

// begin starts a process and waits until it answers. It ends with ctx at the latest.
func (s *server) begin(ctx context.Context) error {
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
	return until(ctx, "the control plane answers", answersWithin, func(ctx context.Context) (string, error) {
		select {
		case <-ended:
			return "", errors.New("it ended by itself while it started")
		default:
		}
		_, err := s.client.Version(ctx)
		return "", err
	})
}

// crash kills the process, leaves a moment without one, and starts the next.
func (s *server) crash(ctx context.Context) error {
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
	if !pause(ctx, down) {
		return ctx.Err()
	}
	return s.begin(ctx)
}

// end kills the process for good.
func (s *server) end() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	_ = s.log.Close()
}
