package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

const (
	// The end of a command shows in its record a moment after its streams
	// ended; the waits between two looks at it double from the first to the last.
	firstLook = 2 * time.Millisecond
	lastLook  = 250 * time.Millisecond
	// noDetach is a sequence nobody types: an engine that is given none
	// swallows every Ctrl-P until the next key is pressed.
	noDetach = "ctrl-@,ctrl-^,ctrl-_,ctrl-@"
)

// execution is one command under way.
type execution struct {
	c    *Client
	spec docker.ExecSpec
	name string // of the container
	what string
	id   string
	size docker.TermSize // when it starts; zero while unknown
	// refusal is what the engine wrote into the command's output instead of
	// starting it.
	refusal string
}

// Exec implements docker.Runtime.
func (c *Client) Exec(ctx context.Context, name string, e docker.ExecSpec) (int, error) {
	if err := checkExec(e); err != nil {
		return 0, fmt.Errorf("execute in container %s: %w: %w", name, docker.ErrInvalid, err)
	}
	// The arguments may hold secrets and stay out of every message.
	x := &execution{c: c, spec: e, name: name, what: "execute " + e.Command[0] + " in container " + name}
	if err := x.prepare(ctx); err != nil {
		return 0, err
	}
	if err := x.attend(ctx); err != nil {
		return 0, err
	}
	return x.exitCode(ctx)
}

// prepare registers the command with the engine.
func (x *execution) prepare(ctx context.Context) error {
	ctx, cancel := x.c.bound(ctx)
	defer cancel()
	if err := x.c.negotiate(ctx); err != nil {
		return x.c.fail(x.what, err)
	}
	opts := client.ExecCreateOptions{
		User: x.spec.User, WorkingDir: x.spec.WorkingDir, Env: environment(x.spec.Env), Cmd: x.spec.Command,
		TTY: x.spec.TTY, AttachStdin: x.spec.Stdin != nil, AttachStdout: true, AttachStderr: true,
	}
	if x.spec.TTY {
		opts.DetachKeys = noDetach
		select {
		case x.size = <-x.spec.Resize:
			opts.ConsoleSize = client.ConsoleSize{Height: uint(x.size.Height), Width: uint(x.size.Width)}
		default:
		}
	}
	res, err := x.c.cli.ExecCreate(ctx, x.name, opts)
	if err != nil {
		return x.c.fail(x.what, err)
	}
	x.id = res.ID
	return nil
}

// attend starts the command and carries its streams until the outputs end.
func (x *execution) attend(ctx context.Context) error {
	conn, err := x.start(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if x.spec.Stdin != nil {
		input, err := feed(conn, x.spec.Stdin, x.spec.TTY)
		if err != nil {
			return fmt.Errorf("%s: %w", x.what, err)
		}
		defer input.leave(conn)
	}
	if x.spec.TTY {
		defer x.followSize(ctx)()
	}
	out := newOutputs(x.spec, func(text string) bool { return x.refused(ctx, text) })
	err = out.carry(conn.out)
	switch {
	case out.failed() != nil:
		return fmt.Errorf("%s: writing its output: %w", x.what, out.failed())
	case ctx.Err() != nil:
		return x.abandoned(ctx)
	case err != nil:
		return x.c.failSlow(x.what, err)
	}
	return nil
}

// start has the engine start the command on a connection of its own.
func (x *execution) start(ctx context.Context) (*attachment, error) {
	ctx, opened, cancel := x.c.opening(ctx)
	defer cancel()
	request := container.ExecStartRequest{Tty: x.spec.TTY}
	if x.size != (docker.TermSize{}) {
		request.ConsoleSize = &[2]uint{uint(x.size.Height), uint(x.size.Width)}
	}
	conn, err := x.c.hijack(ctx, "/exec/"+x.id+"/start", request)
	if err != nil {
		return nil, x.c.failStream(ctx, x.what, err)
	}
	opened()
	return conn, nil
}

// followSize passes sizes of the terminal on until the returned func is called.
func (x *execution) followSize(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if x.size != (docker.TermSize{}) {
			x.resize(ctx, x.size) // engines before API 1.42 know of no size at the start
		}
		for {
			select {
			case <-ctx.Done():
				return
			case size, ok := <-x.spec.Resize:
				if !ok {
					return
				}
				x.resize(ctx, size)
			}
		}
	}()
	return func() { cancel(); <-done }
}

// resize is a courtesy: a command that ended meanwhile has no terminal.
func (x *execution) resize(ctx context.Context, size docker.TermSize) {
	ctx, cancel := x.c.bound(ctx)
	defer cancel()
	_, err := x.c.cli.ExecResize(ctx, x.id, client.ExecResizeOptions{Height: uint(size.Height), Width: uint(size.Width)})
	if err != nil && ctx.Err() == nil {
		x.c.log.DebugContext(ctx, "terminal not resized", "call", x.what, "error", err)
	}
}
