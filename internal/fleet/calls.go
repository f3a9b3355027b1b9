package fleet

import (
	"context"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// Start implements docker.Runtime. On another node it sees to the network once more when
// the engine misses something.
func (v *view) Start(ctx context.Context, ref string) error {
	return v.on(ctx, ref, func(id string, rt docker.Runtime) error {
		err := rt.Start(ctx, ref)
		if remote(id) && docker.IsNotFound(err) {
			if again, nerr := v.f.mendNetwork(ctx, id, rt, ref); nerr != nil {
				return nerr
			} else if again {
				err = rt.Start(ctx, ref)
			}
		}
		if err == nil {
			v.f.became(id, ref, docker.StatusRunning)
		}
		return err
	})
}

// Stop implements docker.Runtime.
func (v *view) Stop(ctx context.Context, ref string, grace time.Duration) error {
	return v.on(ctx, ref, func(id string, rt docker.Runtime) error {
		err := rt.Stop(ctx, ref, grace)
		if err == nil {
			v.f.ended(id, ref)
		}
		return err
	})
}

// Remove implements docker.Runtime.
func (v *view) Remove(ctx context.Context, ref string) error {
	err := v.on(ctx, ref, func(id string, rt docker.Runtime) error {
		err := rt.Remove(ctx, ref)
		if err == nil {
			v.f.removed(id, ref)
		}
		return err
	})
	if docker.IsNotFound(err) {
		return nil
	}
	return err
}

// Signal implements docker.Runtime.
func (v *view) Signal(ctx context.Context, ref, signal string) error {
	return v.on(ctx, ref, func(_ string, rt docker.Runtime) error { return rt.Signal(ctx, ref, signal) })
}

// Update implements docker.Runtime.
func (v *view) Update(ctx context.Context, ref string, change docker.ContainerUpdate) error {
	return v.on(ctx, ref, func(_ string, rt docker.Runtime) error { return rt.Update(ctx, ref, change) })
}

// Logs implements docker.Runtime.
func (v *view) Logs(ctx context.Context, ref string, opts docker.LogOptions, fn func(docker.LogLine) error) error {
	return v.on(ctx, ref, func(_ string, rt docker.Runtime) error { return rt.Logs(ctx, ref, opts, fn) })
}

// Stats implements docker.Runtime.
func (v *view) Stats(ctx context.Context, ref string) (out docker.Stats, err error) {
	err = v.on(ctx, ref, func(_ string, rt docker.Runtime) error {
		var err error
		out, err = rt.Stats(ctx, ref)
		return err
	})
	return out, err
}

// Exec implements docker.Runtime.
func (v *view) Exec(ctx context.Context, ref string, e docker.ExecSpec) (code int, err error) {
	err = v.on(ctx, ref, func(_ string, rt docker.Runtime) error {
		var err error
		code, err = rt.Exec(ctx, ref, e)
		return err
	})
	return code, err
}

// CopyInto implements docker.Runtime.
func (v *view) CopyInto(ctx context.Context, ref, dir string, files []docker.File) error {
	return v.on(ctx, ref, func(_ string, rt docker.Runtime) error { return rt.CopyInto(ctx, ref, dir, files) })
}

// ExitState implements docker.ExitStateInspector.
func (v *view) ExitState(ctx context.Context, ref string) (*docker.ExitState, error) {
	s, err := v.Inspect(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &s.Exit, nil
}
