package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// exitCode asks how the command ended. A command that closed its outputs and
// goes on is waited for as long as any call is.
func (x *execution) exitCode(caller context.Context) (int, error) {
	ctx, cancel := x.c.bound(caller)
	defer cancel()
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		res, err := x.c.cli.ExecInspect(ctx, x.id, client.ExecInspectOptions{})
		switch {
		case caller.Err() != nil:
			return 0, x.abandoned(caller)
		case err != nil:
			return 0, x.lost(ctx, err)
		}
		if !res.Running {
			if neverStarted(res) {
				return 0, x.notExecuted(res.ExitCode)
			}
			return res.ExitCode, nil
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			if caller.Err() != nil {
				return 0, x.abandoned(caller)
			}
			return 0, &failure{what: x.what, cause: ctx.Err(), hint: "it closed its outputs and goes on"}
		}
	}
}

// abandoned is the failure of a caller that no longer waits.
func (x *execution) abandoned(caller context.Context) error {
	return &failure{what: x.what, cause: caller.Err(), hint: "the command may go on in the container"}
}

// refused reports whether a first output is the engine's own word: engines
// write why a command cannot be started into its output, with a line end that
// programs without a terminal seldom use.
func (x *execution) refused(ctx context.Context, text string) bool {
	if !strings.HasSuffix(text, "\r\n") {
		return false
	}
	ctx, cancel := x.c.bound(ctx)
	defer cancel()
	res, err := x.c.cli.ExecInspect(ctx, x.id, client.ExecInspectOptions{})
	if err != nil || !neverStarted(res) {
		return false
	}
	x.refusal = strings.TrimSpace(text)
	return true
}

// neverStarted tells a command that the engine could not start from one that
// ended by itself with the same exit code.
func neverStarted(res client.ExecInspectResult) bool {
	return !res.Running && res.PID == 0 && res.ExitCode != 0
}

// notExecuted is the failure of a command that the engine could not start.
func (x *execution) notExecuted(code int) error {
	const missing = 127 // as shells have it; older engines use 126 for everything
	text, program := x.refusal, x.spec.Command[0]
	sentinel := docker.ErrInvalid
	switch {
	case strings.Contains(text, "executable file not found"),
		strings.Contains(text, "stat "+program) && strings.Contains(text, "no such file or directory"),
		text == "" && code == missing:
		sentinel = docker.ErrExecNotFound
	case strings.Contains(text, "is not running"), strings.Contains(text, "cannot exec in a stopped"):
		sentinel = docker.ErrNotRunning
	}
	if text == "" {
		text = fmt.Sprintf("the engine could not start it, exit code %d", code)
	}
	return &failure{what: x.what, sentinel: sentinel, cause: errors.New(text)}
}

// lost is the failure to learn a command's exit code. The engine forgets a
// command with its container, or when it is restarted.
func (x *execution) lost(ctx context.Context, cause error) error {
	err := x.c.fail(x.what, cause)
	if !errors.Is(err, docker.ErrNotFound) {
		return err
	}
	f := &failure{what: x.what, sentinel: docker.ErrUnavailable, cause: cause, hint: "the engine lost track of the command"}
	switch state, err := x.c.Inspect(ctx, x.name); {
	case errors.Is(err, docker.ErrNotFound):
		f.sentinel, f.hint = docker.ErrNotFound, "the container was removed"
	case err == nil && !state.Running():
		f.sentinel, f.hint = docker.ErrNotRunning, "the container ended before the command"
	}
	return f
}
