package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Names in the folder.
const (
	fileBootstrap = "bootstrap.json"
	fileCA        = "ca.crt"
	fileToken     = "nonce.jwt"
	fileKey       = "identity.key"
	fileCert      = "identity.crt"
	fileLock      = "lock"
	fileNew       = ".new" // behind the name of a file that is being written
)

// maxFile bounds what is read of one, in bytes.
const maxFile = 256 << 10

// ErrLocked: another agent runs on the folder.
var ErrLocked = errors.New("another agent has the folder")

// folder is the agent's own, for as long as it is open.
type folder struct {
	root *os.Root
	lock *os.File
}

// openFolder locks it. Errors: ErrLocked.
func openFolder(dir string) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the agent's folder: %w; it is made with %s, %s and %s in it when a machine joins a cluster", err, fileBootstrap, fileCA, fileToken)
	}
	lock, err := root.OpenFile(fileLock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("open the agent's lock: %w", err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		holder := make([]byte, 32)
		n, _ := lock.ReadAt(holder, 0)
		_, _ = lock.Close(), root.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s, pid %s; stop that one or give another --dir", ErrLocked, dir, strings.TrimSpace(string(holder[:n])))
		}
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := lock.Truncate(0); err == nil {
		_, _ = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return &folder{root: root, lock: lock}, nil
}

func (f *folder) close() { _, _ = f.lock.Close(), f.root.Close() }

// read returns a file's bytes; one that is not there is fs.ErrNotExist.
func (f *folder) read(name string) ([]byte, error) {
	file, err := f.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing in %s: %w", name, f.root.Name(), fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	case len(data) > maxFile:
		return nil, fmt.Errorf("read %s: it is longer than %d bytes", name, maxFile)
	}
	return data, nil
}

// modified is when a file was written, by the clock of this machine.
func (f *folder) modified(name string) (time.Time, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return time.Time{}, fmt.Errorf("read %s: %w", name, err)
	}
	return info.ModTime(), nil
}

// closeToOthers takes what is secret away from other users of the machine, and says so.
func (f *folder) closeToOthers(log *slog.Logger) {
	for _, name := range []string{fileKey, fileToken} {
		info, err := f.root.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		log := log.With("file", name, "mode", info.Mode().Perm().String())
		if err := f.root.Chmod(name, 0o600); err != nil {
			log.Error("a secret file is open to other users of this machine, and cannot be closed", "error", err)
			continue
		}
		log.Warn("a secret file was open to other users of this machine; it is closed now. Replace the machine if one of them is not to be trusted")
	}
}

// write puts a whole file where none, or another, was. It is on disk when write returns.
func (f *folder) write(name string, data []byte) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", name, err)
		}
	}()
	// What a process that was killed left there may be anything.
	if err := f.remove(name + fileNew); err != nil {
		return err
	}
	file, err := f.root.OpenFile(name+fileNew, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := f.root.Rename(name+fileNew, name); err != nil {
		return err
	}
	return f.sync()
}

// remove takes a file away; none there is fine.
func (f *folder) remove(name string) error {
	if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

func (f *folder) sync() error {
	d, err := f.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
