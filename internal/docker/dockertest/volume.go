package dockertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

// EnsureVolume implements docker.Runtime. An existing volume agrees when it
// carries every label of the spec with the same value.
func (e *Engine) EnsureVolume(ctx context.Context, spec docker.VolumeSpec) error {
	return e.call(ctx, CallEnsureVolume, spec.Name, func(f *fault) error {
		if !validName.MatchString(spec.Name) {
			return fmt.Errorf("volume name %q: %w", spec.Name, docker.ErrInvalid)
		}
		if v := e.volumes[spec.Name]; v != nil {
			for k, want := range spec.Labels {
				if got, ok := v.Labels[k]; !ok || got != want {
					return fmt.Errorf("volume %q has another %s label: %w", spec.Name, k, docker.ErrConflict)
				}
			}
			return nil
		}
		if f.lies() {
			return nil
		}
		e.volumes[spec.Name] = &docker.Volume{Name: spec.Name, Labels: maps.Clone(spec.Labels), Created: e.now()}
		e.recordObject(DidCreateVolume, spec.Name, spec.Labels)
		return nil
	})
}

// ListVolumes implements docker.Runtime.
func (e *Engine) ListVolumes(ctx context.Context, labels map[string]string) (out []docker.Volume, err error) {
	err = e.call(ctx, CallListVolumes, "", func(f *fault) error {
		for _, v := range e.volumes {
			if carries(v.Labels, labels) {
				out = append(out, docker.Volume{Name: v.Name, Labels: maps.Clone(v.Labels), Created: v.Created})
			}
		}
		slices.SortFunc(out, func(a, b docker.Volume) int { return strings.Compare(a.Name, b.Name) })
		if f.lies() && len(out) > 0 {
			out = out[:len(out)-1]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// RemoveVolume implements docker.Runtime.
func (e *Engine) RemoveVolume(ctx context.Context, name string) error {
	return e.call(ctx, CallRemoveVolume, name, func(f *fault) error {
		v := e.volumes[name]
		if v == nil || f.lies() {
			return nil
		}
		for _, c := range e.sorted() {
			for _, m := range c.spec.Mounts {
				if m.Volume == name {
					return fmt.Errorf("volume %q is in use by container %q: %w", name, c.spec.Name, docker.ErrConflict)
				}
			}
		}
		delete(e.volumes, name)
		delete(e.volumeFiles, name)
		e.recordObject(DidRemoveVolume, name, v.Labels)
		return nil
	})
}

// VolumeSizes implements docker.Runtime: the bytes of the files that were put into
// each volume.
func (e *Engine) VolumeSizes(ctx context.Context) (map[string]int64, error) {
	out := map[string]int64{}
	err := e.call(ctx, CallVolumeSizes, "", func(*fault) error {
		for name := range e.volumes {
			out[name] = 0
			for _, f := range e.volumeFiles[name] {
				out[name] += int64(len(f.Data))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
