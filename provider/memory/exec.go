package memory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"sync"

	"github.com/berth-cloud/berth/provider"
)

// exec runs a command in a container and waits for it.
func (c *Cluster) exec(ctx context.Context, o *container, req provider.ExecRequest) (*provider.ExecResult, error) {
	c.mu.Lock()
	proc, up := o.process, o.state == running
	c.mu.Unlock()
	if !up {
		return nil, fmt.Errorf("%w: container %s does not run", provider.ErrNotReady, o.name)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out, err := newCollector(req.Stdout, cancel), newCollector(req.Stderr, cancel)
	program := o.image.Programs[req.Command[0]]
	if program == nil {
		return &provider.ExecResult{ExitCode: o.unrunnable(req.Command[0])}, nil
	}
	p := &Process{
		container: o, process: proc, args: req.Command[1:], env: maps.Clone(o.env), user: o.spec.User, dir: o.spec.WorkingDir,
		stdin: noInput{}, stdout: out, stderr: err,
	}
	p.adjust(req)
	stop := make(chan struct{})
	defer close(stop)
	if req.TTY {
		p.stderr = out
		p.terminal = &terminal{size: provider.TerminalSize{Cols: 80, Rows: 24}}
		if req.Size != nil {
			p.terminal.set(*req.Size)
		}
		go follow(p.terminal, req.Resize, stop)
	}
	code, failed := o.wait(ctx, proc, program, p)
	if failed != nil {
		return nil, failed
	}
	return &provider.ExecResult{ExitCode: code, Stdout: out.bytes(), Stderr: err.bytes(), Truncated: out.more || err.more}, nil
}

// adjust takes in what a request changes for the command.
func (p *Process) adjust(req provider.ExecRequest) {
	if p.env == nil {
		p.env = map[string]string{}
	}
	maps.Copy(p.env, req.Env)
	if req.User != "" {
		p.user = req.User
	}
	if req.WorkingDir != "" {
		p.dir = req.WorkingDir
	}
	if req.Stdin != nil {
		p.stdin = req.Stdin
	}
}

// wait runs the program until it, the container or ctx ends.
func (o *container) wait(ctx context.Context, proc *process, program Program, p *Process) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan int, 1)
	o.cluster.running.Go(func() { done <- program(ctx, p) })
	select {
	case code := <-done:
		if err := context.Cause(ctx); err != nil {
			return 0, fmt.Errorf("run a command in container %s: %w", o.name, err)
		}
		return code, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("run a command in container %s: %w", o.name, context.Cause(ctx))
	case <-proc.ctx.Done():
		return exitKilled, nil
	}
}

// unrunnable is the exit code of a command that is no program.
func (o *container) unrunnable(name string) int {
	set, clean, _ := o.find(name)
	if _, err := set.read(clean); err == nil {
		return provider.ExitNotExecutable
	}
	return provider.ExitNotFound
}

// follow takes sizes over until it is told to stop.
func follow(t *terminal, sizes <-chan provider.TerminalSize, stop <-chan struct{}) {
	for {
		select {
		case size, more := <-sizes:
			if !more {
				return
			}
			t.set(size)
		case <-stop:
			return
		}
	}
}

// collector keeps the first bytes of a stream, or passes it on.
type collector struct {
	to     io.Writer
	cancel context.CancelCauseFunc
	mu     sync.Mutex
	kept   bytes.Buffer
	more   bool
}

func newCollector(to io.Writer, cancel context.CancelCauseFunc) *collector {
	return &collector{to: to, cancel: cancel}
}

// Write implements io.Writer.
func (w *collector) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to != nil {
		n, err := w.to.Write(data)
		if err != nil {
			w.cancel(fmt.Errorf("write the output: %w", err))
		}
		return n, err
	}
	room := provider.MaxExecOutput - w.kept.Len()
	if len(data) > room {
		w.more = true
	}
	w.kept.Write(data[:min(room, len(data))])
	return len(data), nil
}

func (w *collector) bytes() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.kept.Bytes())
}

// file puts a file into a container before it starts.
func (o *container) file(path string, data []byte, mode fs.FileMode) error {
	set, clean, _ := o.find(path)
	return set.write(clean, data, mode, false)
}
