package dockertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// Remote is one image in the registries that the engine reaches.
type Remote struct {
	Image     docker.Image // an empty id is derived from the reference
	Behaviour Behaviour
	// Auth, when set, is what a pull must bring.
	Auth *docker.RegistryAuth
	// Time is how long a pull takes.
	Time time.Duration
	// Layers is how many layers progress reports; 0 means 1.
	Layers int
	// StreamError breaks a pull inside its progress stream, after Time.
	StreamError string
	// FailTimes bounds how many pulls StreamError breaks; 0 is all.
	FailTimes int

	failed int
}

// AddRemote puts an image into a registry, in place of what ref named there.
func (e *Engine) AddRemote(ref string, r Remote) {
	e.clock.lock()
	defer e.clock.unlock()
	ref = normaliseRef(ref)
	if r.Image.ID == "" {
		r.Image.ID = digestOf("config " + ref)
	}
	if len(r.Image.Digests) == 0 {
		repo, _, _ := strings.Cut(ref, "@")
		if i := strings.LastIndex(repo, ":"); i > strings.LastIndex(repo, "/") {
			repo = repo[:i]
		}
		r.Image.Digests = []string{repo + "@" + digestOf("manifest "+r.Image.ID)}
	}
	e.remote[ref] = &r
	for _, d := range r.Image.Digests {
		e.remote[normaliseRef(d)] = &r
	}
}

// Pull implements docker.Runtime. On a virtual clock it moves the clock to its
// own end.
func (e *Engine) Pull(ctx context.Context, ref string, auth *docker.RegistryAuth, progress func(docker.PullProgress)) error {
	var steps []docker.PullProgress
	err := e.call(ctx, CallPull, ref, func(f *fault) error {
		r := e.remote[normaliseRef(ref)]
		if r == nil {
			return fmt.Errorf("pull %q: %w", ref, docker.ErrImageNotFound)
		}
		if r.Auth != nil && (auth == nil || auth.Username != r.Auth.Username || auth.Password != r.Auth.Password) {
			return fmt.Errorf("pull %q: %w", ref, docker.ErrUnauthorized)
		}
		if err := e.clock.await(ctx, e.now().Add(r.Time), func() bool { return r.Time == 0 }); err != nil {
			return fmt.Errorf("pull %q: %w", ref, err)
		}
		steps = r.progress()
		if r.StreamError != "" && (r.FailTimes == 0 || r.failed < r.FailTimes) {
			r.failed++
			steps = steps[:len(steps)/2]
			return fmt.Errorf("pull %q: %w", ref, errors.New(r.StreamError))
		}
		if f.lies() {
			return nil
		}
		e.addImage(ref, r.Image, r.Behaviour)
		e.recordObject(DidPull, ref, nil)
		return nil
	})
	if progress != nil {
		for _, s := range steps {
			progress(s)
		}
	}
	return err
}

func (r *Remote) progress() []docker.PullProgress {
	var out []docker.PullProgress
	n := max(r.Layers, 1)
	size := max(r.Image.SizeBytes/int64(n), 1)
	for i := range n {
		layer := fmt.Sprintf("%012x", i+1)
		out = append(out,
			docker.PullProgress{Layer: layer, Status: "Downloading", Current: size / 2, Total: size},
			docker.PullProgress{Layer: layer, Status: "Pull complete", Current: size, Total: size})
	}
	return out
}
