package dockertest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// ExecRun is one command executed in a container.
type ExecRun struct {
	Run                      // of the container's process
	Age        time.Duration // of that process, when the command starts
	Command    []string
	Env        []docker.EnvVar // the container's, then the command's own
	User       string
	WorkingDir string
	TTY        bool
	// Stdin is at its end when the caller gave none. A Read fails once the
	// call's context is done, the container ended or the engine is down.
	Stdin io.Reader
	// Stdout and Stderr are the caller's writers, for a program that answers
	// while it reads; with a TTY they are one. A scripted outcome needs neither.
	Stdout, Stderr io.Writer
	Resize         <-chan docker.TermSize
	// WriteFile puts a file into the container; false when its root or the
	// mount is read-only.
	WriteFile func(path string, data []byte) bool
}

// ExecOutcome is how a command ended.
type ExecOutcome struct {
	Code           int
	Stdout, Stderr string // written when it ends, with ends of lines as given
	// Takes passes before it ends; a container that ends sooner ends it with 137.
	Takes time.Duration
	// NotFound: the container has no such program.
	NotFound bool
}

// ExecRecord is one command that was executed.
type ExecRecord struct {
	At        time.Time // when it ended
	Container string    // its name
	Command   []string
	Code      int
}

// Exec implements docker.Runtime. What runs is the program of the container's
// Behaviour; without one no program is found.
func (e *Engine) Exec(ctx context.Context, ref string, spec docker.ExecSpec) (code int, err error) {
	err = e.call(ctx, CallExec, ref, func(f *fault) error {
		c, err := e.running(ref)
		if err != nil {
			return err
		}
		if len(spec.Command) == 0 || spec.Command[0] == "" {
			return fmt.Errorf("execute in container %q: no program: %w", ref, docker.ErrInvalid)
		}
		if err := checkEnv(spec.Env); err != nil {
			return fmt.Errorf("execute in container %q: %w", ref, err)
		}
		if f.lies() {
			return nil
		}
		code, err = e.exec(ctx, c, spec)
		return err
	})
	if err != nil {
		return 0, err
	}
	return code, nil
}

// running finds a container whose process runs.
func (e *Engine) running(ref string) (*container, error) {
	c, err := e.find(ref)
	if err != nil {
		return nil, err
	}
	if c.status != docker.StatusRunning {
		return nil, fmt.Errorf("container %q is %s: %w", ref, c.status, docker.ErrNotRunning)
	}
	return c, nil
}

func (e *Engine) exec(ctx context.Context, c *container, spec docker.ExecSpec) (int, error) {
	program, number, epoch := c.process.Exec, c.runs, e.epoch
	fail := func(err error) (int, error) {
		return 0, fmt.Errorf("execute %s in container %q: %w", spec.Command[0], c.spec.Name, err)
	}
	if program == nil {
		return fail(docker.ErrExecNotFound)
	}
	run, leave := e.execRun(ctx, c, spec)
	var out ExecOutcome
	e.clock.outside(func() {
		defer leave()
		out = program(run)
	})
	if out.NotFound {
		return fail(docker.ErrExecNotFound)
	}
	ended := func() bool { return c.runs != number || !c.active() }
	broken := func() bool { return e.epoch != epoch }
	err := ctx.Err()
	if err == nil {
		err = e.clock.await(ctx, e.now().Add(max(out.Takes, 0)), func() bool { return ended() || broken() })
	}
	switch {
	case err != nil:
		return fail(err)
	case broken():
		return fail(fmt.Errorf("the attachment broke: %w", docker.ErrUnavailable))
	case ended():
		out = ExecOutcome{Code: codeKilled}
	}
	e.recordExec(c, spec.Command, out.Code)
	e.clock.outside(func() {
		_, err = io.WriteString(run.Stdout, out.Stdout)
		if err == nil {
			_, err = io.WriteString(run.Stderr, out.Stderr)
		}
	})
	if err != nil {
		return fail(fmt.Errorf("writing its output: %w", err))
	}
	return out.Code, nil
}

// execRun is what the program gets, and how to part from the caller's reader.
func (e *Engine) execRun(ctx context.Context, c *container, spec docker.ExecSpec) (ExecRun, func()) {
	r := ExecRun{
		Run: e.runOf(c, c.runs-1), Age: e.now().Sub(c.started),
		Command: slices.Clone(spec.Command), Env: slices.Concat(c.spec.Env, spec.Env),
		User: spec.User, WorkingDir: spec.WorkingDir, TTY: spec.TTY,
		Stdin: strings.NewReader(""), Stdout: writerOr(spec.Stdout), Stderr: writerOr(spec.Stderr), Resize: spec.Resize,
	}
	if r.User == "" {
		r.User = c.spec.User
	}
	if r.WorkingDir == "" {
		r.WorkingDir = c.spec.WorkingDir
	}
	if spec.TTY {
		r.Stderr = r.Stdout
	}
	locked := r.File
	r.File = func(path string) (docker.File, bool) {
		e.clock.lock()
		defer e.clock.unlock()
		return locked(path)
	}
	r.WriteFile = func(path string, data []byte) bool {
		e.clock.lock()
		defer e.clock.unlock()
		return e.putFile(c, path, docker.File{Data: slices.Clone(data)}) == nil
	}
	if spec.Stdin == nil {
		return r, func() {}
	}
	in := newInput(ctx, c.gone, e.broke, spec.Stdin)
	r.Stdin = in
	return r, in.leave
}

func writerOr(w io.Writer) io.Writer {
	if w == nil {
		return io.Discard
	}
	return w
}

// PassesAfter is a script for Behaviour.Exec: every command fails with exit
// code 1 until the process has an age, and succeeds from then on.
func PassesAfter(age time.Duration) func(ExecRun) ExecOutcome {
	return func(r ExecRun) ExecOutcome {
		if r.Age < age {
			return ExecOutcome{Code: 1, Stderr: "not yet\n"}
		}
		return ExecOutcome{}
	}
}

// Execs is every command executed in a container, by name or id, oldest first,
// since the last ResetHistory. "" is all containers.
func (e *Engine) Execs(ref string) []ExecRecord {
	e.clock.lock()
	defer e.clock.unlock()
	var out []ExecRecord
	for _, m := range e.history.all {
		if m.Did == DidExec && (ref == "" || m.Name == ref || m.ID == ref) {
			out = append(out, ExecRecord{At: m.At, Container: m.Name, Command: m.Command, Code: m.Code})
		}
	}
	return out
}
