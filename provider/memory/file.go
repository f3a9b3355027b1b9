package memory

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
)

// fileset is files by path. A directory is there when a file below it is.
type fileset struct {
	mu    sync.Mutex
	files map[string]file
}

type file struct {
	data []byte
	mode fs.FileMode
}

func (s *fileset) read(name string) (file, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.files[name]
	if !ok {
		return file{}, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return f, nil
}

// size is the bytes of all files.
func (s *fileset) size() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum int64
	for _, f := range s.files {
		sum += int64(len(f.data))
	}
	return sum
}

// maxFiles bounds the files of a set, maxFile the bytes of one.
const (
	maxFiles = 10_000
	maxFile  = 64 << 20
)

func (s *fileset) write(name string, data []byte, mode fs.FileMode, exclusive bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.files[name]
	switch {
	case exists && exclusive:
		return &fs.PathError{Op: "create", Path: name, Err: fs.ErrExist}
	case exists:
		mode = old.mode
	case len(s.files) >= maxFiles:
		return fmt.Errorf("write %s: there are %d files already", name, maxFiles)
	}
	if len(data) > maxFile {
		return fmt.Errorf("write %s: %d bytes are more than %d", name, len(data), maxFile)
	}
	if s.files == nil {
		s.files = map[string]file{}
	}
	s.files[name] = file{bytes.Clone(data), mode}
	return nil
}

func (s *fileset) remove(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.files[name]; !ok {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	}
	delete(s.files, name)
	return nil
}

// mount is a place in a container where other files are.
type mount struct {
	path     string
	files    *fileset
	readOnly bool
	kept     *keptVolume // nil for what is the container's or the instance's
}

// find is the set that holds a path, and whether it may be written.
func (o *container) find(name string) (set *fileset, clean string, writable bool) {
	if !path.IsAbs(name) {
		name = path.Join("/", o.spec.WorkingDir, name)
	}
	clean = path.Clean(name)
	set, writable = &o.root, o.spec.Security == nil || !o.spec.Security.ReadOnlyRootFS
	longest := 0
	for _, m := range o.mounts {
		if len(m.path) > longest && strings.HasPrefix(clean, m.path+"/") {
			set, writable, longest = m.files, !m.readOnly, len(m.path)
		}
	}
	return set, clean[longest:], writable
}

func (o *container) writeFile(name string, data []byte, exclusive bool) error {
	set, clean, writable := o.find(name)
	if !writable {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return set.write(clean, data, 0o644, exclusive)
}
