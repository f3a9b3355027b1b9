package dockertest

import (
	"context"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

// signals are the numbers of the signals that the engine knows by name.
var signals = map[string]string{
	"1": "HUP", "2": "INT", "3": "QUIT", "9": "KILL", "10": "USR1", "12": "USR2", "15": "TERM", "17": "CHLD", "18": "CONT", "28": "WINCH",
}

// Signal implements docker.Runtime. KILL ends the process, the container's stop
// signal makes it stop as its Behaviour says, any other one does nothing to it.
// As on an engine none lets the restart policy bring this run back.
func (e *Engine) Signal(ctx context.Context, ref, signal string) error {
	return e.call(ctx, CallSignal, ref, func(f *fault) error {
		name, err := signalName(signal)
		if err != nil {
			return err
		}
		c, err := e.find(ref)
		if err != nil {
			return err
		}
		if c.process == nil {
			return fmt.Errorf("container %q is %s: %w", ref, c.status, docker.ErrNotRunning)
		}
		if f.lies() {
			return nil
		}
		stop := c.spec.StopSignal
		if stop == "" {
			stop = "TERM"
		}
		stop, _ = signalName(stop)
		e.noteStale(c, true)
		c.stoppedByUser = true
		e.recordSignal(c, name)
		switch name {
		case "KILL":
			e.ended(c, codeKilled, false)
		case stop:
			e.askToEnd(c)
		}
		return nil
	})
}

// signalName is a signal's name without SIG.
func signalName(signal string) (string, error) {
	if signal == "" {
		return "KILL", nil
	}
	if name, ok := signals[signal]; ok {
		return name, nil
	}
	name := strings.TrimPrefix(strings.ToUpper(signal), "SIG")
	for _, known := range signals {
		if name == known {
			return name, nil
		}
	}
	return "", fmt.Errorf("signal %q: %w", signal, docker.ErrInvalid)
}
