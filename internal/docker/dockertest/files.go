package dockertest

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
)

// engineDirs are in every container from its creation on.
var engineDirs = []string{"/", "/dev", "/etc", "/proc", "/sys"}

// CopyInto implements docker.Runtime. A directory exists when engines make it,
// the image's Behaviour names it, it is a mount, or something was put below it.
func (e *Engine) CopyInto(ctx context.Context, ref, dir string, files []docker.File) error {
	return e.call(ctx, CallCopyInto, ref, func(f *fault) error {
		if err := docker.CheckFiles(dir, files); err != nil {
			return err
		}
		c, err := e.find(ref)
		if err != nil {
			return err
		}
		if !e.hasDir(c, path.Clean(dir)) {
			return fmt.Errorf("directory %s of container %q: %w", dir, ref, docker.ErrNotFound)
		}
		if err := c.writable(path.Clean(dir)); err != nil {
			return err
		}
		if f.lies() {
			return nil
		}
		paths := make([]string, len(files))
		for i, file := range files {
			paths[i] = path.Join(dir, file.Path)
			file.Mode, file.Data = file.Permissions(), slices.Clone(file.Data)
			if err := e.putFile(c, paths[i], file); err != nil {
				return err
			}
		}
		e.recordCopy(c, paths)
		return nil
	})
}

// FileIn is a file of a container, by an absolute path in it, or of a volume,
// by a path in the volume. Its Path is as asked for. Files that an image brings
// along are not known.
func (e *Engine) FileIn(containerOrVolume, name string) (docker.File, bool) {
	e.clock.lock()
	defer e.clock.unlock()
	if c, err := e.find(containerOrVolume); err == nil {
		return e.file(c, name)
	}
	file, ok := e.volumeFiles[containerOrVolume][path.Clean("/"+name)]
	file.Path = name
	return file, ok
}

// Spec is what a container was made from, outside the call log and the fault
// script.
func (e *Engine) Spec(ref string) (docker.ContainerSpec, bool) {
	e.clock.lock()
	defer e.clock.unlock()
	c, err := e.find(ref)
	if err != nil {
		return docker.ContainerSpec{}, false
	}
	return cloneSpec(c.spec), true
}

// file reads what a path in a container leads to.
func (e *Engine) file(c *container, name string) (docker.File, bool) {
	files, inside := e.filesAt(c, path.Clean(name))
	file, ok := files[inside]
	file.Path, file.Data = name, slices.Clone(file.Data)
	return file, ok
}

// putFile makes or replaces a file.
func (e *Engine) putFile(c *container, name string, file docker.File) error {
	name = path.Clean(name)
	if err := c.writable(name); err != nil {
		return err
	}
	files, inside := e.filesAt(c, name)
	file.Path = ""
	files[inside] = file
	return nil
}

// filesAt is where a path in a container leads: to a volume or its own files.
func (e *Engine) filesAt(c *container, name string) (files map[string]docker.File, inside string) {
	m := c.mountAt(name)
	if m == nil || m.Volume == "" {
		return c.files, name
	}
	if e.volumeFiles[m.Volume] == nil {
		e.volumeFiles[m.Volume] = map[string]docker.File{}
	}
	return e.volumeFiles[m.Volume], path.Clean("/" + strings.TrimPrefix(name, path.Clean(m.Path)))
}

// mountAt is the innermost mount that holds a path, or nil.
func (c *container) mountAt(name string) *docker.Mount {
	var found *docker.Mount
	for i, m := range c.spec.Mounts {
		if within(name, m.Path) && (found == nil || len(m.Path) > len(found.Path)) {
			found = &c.spec.Mounts[i]
		}
	}
	return found
}

func (c *container) writable(name string) error {
	m := c.mountAt(name)
	switch {
	case m != nil && m.ReadOnly:
		return fmt.Errorf("%s of container %q is on a read-only mount: %w", name, c.spec.Name, docker.ErrInvalid)
	case m == nil && c.spec.ReadOnlyRoot && !c.onTmpfs(name):
		return fmt.Errorf("%s of container %q is on a read-only root: %w", name, c.spec.Name, docker.ErrInvalid)
	}
	return nil
}

// onTmpfs: a tmpfs is mounted only while the container runs.
func (c *container) onTmpfs(name string) bool {
	for p := range c.spec.Tmpfs {
		if c.process != nil && within(name, p) {
			return true
		}
	}
	return false
}

func (e *Engine) hasDir(c *container, dir string) bool {
	known := slices.Concat(engineDirs, c.image.behaviour.Dirs)
	if c.spec.WorkingDir != "" {
		known = append(known, c.spec.WorkingDir)
	}
	for _, m := range c.spec.Mounts {
		known = append(known, m.Path)
	}
	for p := range c.spec.Tmpfs {
		known = append(known, p)
	}
	if slices.ContainsFunc(known, func(k string) bool { return within(k, dir) }) {
		return true
	}
	files, inside := e.filesAt(c, dir)
	for name := range files {
		if name != inside && within(name, inside) {
			return true
		}
	}
	return false
}

// within reports whether a path is a directory or lies below it.
func within(name, dir string) bool {
	name, dir = path.Clean(name), path.Clean(dir)
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}
