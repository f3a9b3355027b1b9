package dockerprovider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/provider"
)

// Exec implements provider.Provider.
func (d *Driver) Exec(ctx context.Context, workload id.ID, cmd provider.ExecRequest) (*provider.ExecResult, error) {
	if len(cmd.Command) == 0 || cmd.Command[0] == "" {
		return nil, fmt.Errorf("%w: command: is empty", provider.ErrInvalid)
	}
	c, err := d.chosen(ctx, workload, cmd.ServiceName, cmd.Replica)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stdout, stderr := bounded{}, bounded{}
	spec := docker.ExecSpec{
		Command: cmd.Command, Env: variables(cmd.Env), User: cmd.User, WorkingDir: cmd.WorkingDir, TTY: cmd.TTY,
		Stdin: cmd.Stdin, Stdout: or(cmd.Stdout, &stdout), Stderr: or(cmd.Stderr, &stderr), Resize: sizes(ctx, cmd),
	}
	code, err := d.rt.Exec(ctx, c.ID, spec)
	switch {
	case docker.IsExecNotFound(err):
		code, err = provider.ExitNotFound, nil
	case errors.Is(err, docker.ErrInvalid) && cmd.User == "" && cmd.WorkingDir == "":
		code, err = provider.ExitNotExecutable, nil // nothing else of the request can be wrong
	}
	if err != nil {
		return nil, failed(fmt.Sprintf("run %s in container %s", cmd.Command[0], c.Name), err)
	}
	return &provider.ExecResult{
		ExitCode: code, Stdout: stdout.text.Bytes(), Stderr: stderr.text.Bytes(), Truncated: stdout.more || stderr.more,
	}, nil
}

// chosen is the container of a service, of the replica that was asked for, or of
// the first one that serves, or else runs.
func (d *Driver) chosen(ctx context.Context, workload id.ID, service string, replica *int) (*docker.ContainerState, error) {
	in, err := d.inside(ctx, workload)
	if err != nil {
		return nil, err
	}
	name, err := in.service(service)
	if err != nil {
		return nil, err
	}
	var found []docker.ContainerState
	seen := false
	for _, c := range in.containers {
		if serviceName(&c) != name || replica != nil && replicaOf(&c) != *replica {
			continue
		}
		seen = true
		if c.Running() {
			found = append(found, c)
		}
	}
	if !seen && replica != nil && !in.wants(*replica) {
		return nil, fmt.Errorf("replica %d of %s in instance %s: %w", *replica, name, workload, provider.ErrNotFound)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: no container of %s in instance %s runs", provider.ErrConflict, name, workload)
	}
	slices.SortStableFunc(found, func(a, b docker.ContainerState) int {
		if x, y := in.serves(&a), in.serves(&b); x != y {
			if x {
				return -1
			}
			return 1
		}
		if x, y := replicaOf(&a), replicaOf(&b); x != y {
			return x - y
		}
		return strings.Compare(a.Name, b.Name)
	})
	return &found[0], nil
}

func variables(env map[string]string) []docker.EnvVar {
	var out []docker.EnvVar
	for name, value := range env {
		out = append(out, docker.EnvVar{Name: name, Value: value})
	}
	slices.SortFunc(out, func(a, b docker.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// or is the caller's writer, or the bounded one.
func or(w io.Writer, b *bounded) io.Writer {
	if w != nil {
		return w
	}
	return b
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	text bytes.Buffer
	more bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := provider.MaxExecOutput - b.text.Len()
	if len(p) > room {
		b.more = true
	}
	b.text.Write(p[:min(max(room, 0), len(p))])
	return len(p), nil
}

// sizes passes the sizes of a terminal on, the first one at once.
func sizes(ctx context.Context, cmd provider.ExecRequest) <-chan docker.TermSize {
	if !cmd.TTY || cmd.Size == nil && cmd.Resize == nil {
		return nil
	}
	out := make(chan docker.TermSize, 1)
	if cmd.Size != nil {
		out <- docker.TermSize{Width: cmd.Size.Cols, Height: cmd.Size.Rows}
	}
	if cmd.Resize == nil {
		return out
	}
	go func() {
		for {
			select {
			case size, ok := <-cmd.Resize:
				if !ok {
					return
				}
				select {
				case out <- docker.TermSize{Width: size.Cols, Height: size.Rows}:
				case <-ctx.Done():
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}
