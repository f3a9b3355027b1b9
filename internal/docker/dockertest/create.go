package dockertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/berth-cloud/berth/internal/docker"
)

var validName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]+$`)

// Create implements docker.Runtime. Like a real engine it looks at neither the
// network nor the address; both are checked by Start.
func (e *Engine) Create(ctx context.Context, spec docker.ContainerSpec) (id string, err error) {
	err = e.call(ctx, CallCreate, spec.Name, func(f *fault) error {
		if f.lies() {
			id = e.newID("never-made")
			return nil
		}
		id, err = e.create(spec)
		return err
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

func (e *Engine) create(spec docker.ContainerSpec) (string, error) {
	im, err := e.findImage(spec.Image)
	if err != nil {
		return "", err
	}
	id := e.newID("container")
	if spec.Name == "" {
		spec.Name = "unnamed-" + id[:8]
	}
	if err := checkSpec(spec); err != nil {
		return "", err
	}
	if _, taken := e.byName[spec.Name]; taken {
		return "", fmt.Errorf("container name %q is taken: %w", spec.Name, docker.ErrConflict)
	}
	spec = cloneSpec(spec)
	if n := e.findNetwork(spec.Network.Network); n != nil {
		spec.Network.Network = n.Name
	}
	for _, m := range spec.Mounts {
		if m.Volume != "" && e.volumes[m.Volume] == nil { // engines make what is missing
			e.volumes[m.Volume] = &docker.Volume{Name: m.Volume, Labels: maps.Clone(spec.VolumeLabels[m.Volume]), Created: e.now()}
		}
	}
	if spec.Restart == "" {
		spec.Restart = docker.RestartNo
	}
	c := &container{
		seq: e.seq, id: id, spec: spec, image: im, created: e.now(), status: docker.StatusCreated,
		policy: spec.Restart, resources: spec.Resources, files: map[string]docker.File{},
	}
	e.noteStale(c, false)
	e.byID[id], e.byName[spec.Name] = c, c
	e.labels.add(c)
	e.record(c, DidCreate, ByCall)
	e.emit(c, docker.EventCreate)
	return id, nil
}

// checkSpec refuses what an engine or its API cannot take.
func checkSpec(spec docker.ContainerSpec) error {
	if !validName.MatchString(spec.Name) {
		return fmt.Errorf("container name %q: %w", spec.Name, docker.ErrInvalid)
	}
	if err := checkEnv(spec.Env); err != nil {
		return fmt.Errorf("container %q: %w", spec.Name, err)
	}
	if err := checkHardening(spec); err != nil {
		return fmt.Errorf("container %q: %w", spec.Name, err)
	}
	for _, b := range spec.Ports {
		if _, err := hostIP(b.HostIP); err != nil {
			return fmt.Errorf("container %q: %w", spec.Name, err)
		}
	}
	return nil
}

func checkEnv(vars []docker.EnvVar) error {
	for _, v := range vars {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") || strings.Contains(v.Value, "\x00") || !utf8.ValidString(v.Name+v.Value) {
			return fmt.Errorf("variable %q: %w", v.Name, docker.ErrInvalid)
		}
	}
	return nil
}

// Remove implements docker.Runtime.
func (e *Engine) Remove(ctx context.Context, ref string) error {
	return e.call(ctx, CallRemove, ref, func(f *fault) error {
		c, err := e.find(ref)
		if err != nil || f.lies() {
			return nil //nolint:nilerr // a missing container is removed
		}
		if c.active() {
			return fmt.Errorf("remove container %q while it is %s: %w", ref, c.status, docker.ErrConflict)
		}
		e.noteStale(c, true)
		delete(e.byID, c.id)
		delete(e.byName, c.spec.Name)
		e.labels.remove(c)
		e.record(c, DidRemove, ByCall)
		e.emit(c, docker.EventDestroy)
		return nil
	})
}

// Update implements docker.Runtime.
func (e *Engine) Update(ctx context.Context, ref string, change docker.ContainerUpdate) error {
	return e.call(ctx, CallUpdate, ref, func(f *fault) error {
		c, err := e.find(ref)
		if err != nil {
			return err
		}
		if f.lies() {
			return nil
		}
		e.noteStale(c, true)
		if change.Restart != nil {
			c.policy = *change.Restart
		}
		if change.Resources != nil {
			c.limit(*change.Resources)
		}
		e.record(c, DidUpdate, ByCall)
		return nil
	})
}

// limit changes limits as engines do: none can be taken away.
func (c *container) limit(r docker.Resources) {
	c.resources.MemoryBytes = cmp.Or(r.MemoryBytes, c.resources.MemoryBytes)
	c.resources.NanoCPUs = cmp.Or(r.NanoCPUs, c.resources.NanoCPUs)
	c.resources.PidsLimit = cmp.Or(r.PidsLimit, c.resources.PidsLimit)
}

// Start implements docker.Runtime.
func (e *Engine) Start(ctx context.Context, ref string) error {
	return e.call(ctx, CallStart, ref, func(f *fault) error {
		c, err := e.find(ref)
		if err != nil {
			return err
		}
		if c.active() || f.lies() {
			return nil
		}
		if c.wedged {
			return docker.ErrWedged
		}
		c.stoppedByUser = false
		c.restarts, c.backoff = 0, 0
		return e.startProcess(c, ByCall)
	})
}

func (e *Engine) wedge(ref string) {
	if c, err := e.find(ref); err == nil && !c.active() {
		c.wedged = true
	}
}

// Stop implements docker.Runtime. On a virtual clock it moves the clock to the
// end of the container.
func (e *Engine) Stop(ctx context.Context, ref string, grace time.Duration) error {
	return e.call(ctx, CallStop, ref, func(f *fault) error {
		c, err := e.find(ref)
		if err != nil {
			return err
		}
		if !c.active() || f.lies() {
			return nil
		}
		grace = max(grace, 0)
		grace = (grace + time.Second - 1).Truncate(time.Second)
		limit := e.now().Add(grace)
		e.requestStop(c, limit)
		return e.clock.await(ctx, limit, func() bool { return !c.active() })
	})
}
