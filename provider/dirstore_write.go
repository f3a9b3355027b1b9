package provider

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

// recordMagic begins the first line of every record's file, which goes on with
// the version and the checksum of what follows it.
const recordMagic = "berth-record-1"

// errDamaged means that a record's file is not as it was written.
var errDamaged = errors.New("its file is damaged; restore it from a backup or remove it")

func encodeRecord(version Version, value []byte) []byte {
	head := fmt.Sprintf("%s %s %08x\n", recordMagic, version, crc32.ChecksumIEEE(value))
	return append([]byte(head), value...)
}

func decodeRecord(r io.Reader) (Record, error) {
	const head = 128
	data, err := io.ReadAll(io.LimitReader(r, MaxRecordSize+head))
	if err != nil {
		return Record{}, err
	}
	line, value, found := bytes.Cut(data, []byte("\n"))
	words := strings.Fields(string(line[:min(len(line), head)]))
	if !found || len(words) != 3 || words[0] != recordMagic || words[2] != fmt.Sprintf("%08x", crc32.ChecksumIEEE(value)) {
		return Record{}, errDamaged
	}
	return Record{Value: value, Version: Version(words[1])}, nil
}

// newVersion is chance, so that a record that is removed and made again has none of
// the versions that it had before.
func newVersion() Version {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	return Version(hex.EncodeToString(b[:]))
}

// write puts a record in place, and with create its directories. The caller
// holds the lock.
func (s *DirStore) write(key string, value []byte, create bool) (Version, error) {
	version := newVersion()
	tmp := path.Join(tmpDir, string(version))
	if err := s.writeTemp(tmp, encodeRecord(version, value)); err != nil {
		return "", errors.Join(fmt.Errorf("write record %q: %w", key, err), s.dropTemp(tmp))
	}
	name := recordPath(key)
	if create {
		if err := s.makeDirs(path.Dir(name)); err != nil {
			return "", errors.Join(fmt.Errorf("write record %q: %w", key, err), s.dropTemp(tmp))
		}
	}
	if err := s.root.Rename(tmp, name); err != nil {
		return "", errors.Join(fmt.Errorf("write record %q: %w", key, err), s.dropTemp(tmp))
	}
	if err := syncDir(s.root, path.Dir(name)); err != nil {
		return "", fmt.Errorf("write record %q: %w", key, err)
	}
	return version, nil
}

func (s *DirStore) writeTemp(name string, data []byte) error {
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (s *DirStore) dropTemp(name string) error {
	if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// makeDirs makes dir and what is above it, and makes every entry durable, also
// one that a process made that ended before it could.
func (s *DirStore) makeDirs(dir string) error {
	if dir == recordsDir {
		return nil
	}
	if err := s.makeDirs(path.Dir(dir)); err != nil {
		return err
	}
	if err := s.root.Mkdir(dir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(s.root, path.Dir(dir))
}

func syncDir(root *os.Root, name string) error {
	dir, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// lock waits until this caller is the only writer of the directory, in this
// process and in others. The lock goes with the process that holds it.
func (s *DirStore) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the state directory: %w", ctx.Err())
	}
	f, err := s.flock(ctx)
	if err != nil {
		<-s.turn
		return nil, fmt.Errorf("lock the state directory: %w", err)
	}
	return func() {
		_ = f.Close() // lets go of the lock too
		<-s.turn
	}, nil
}

// Another process holds the lock for the time of one write, so trying again is
// cheaper than a blocked thread that no context can end.
const (
	firstLockRetry = time.Millisecond
	lastLockRetry  = 50 * time.Millisecond
)

func (s *DirStore) flock(ctx context.Context) (*os.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := s.root.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for wait := firstLockRetry; ; wait = min(2*wait, lastLockRetry) {
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.Close())
		case <-timer.C:
		}
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		timer.Reset(wait)
	}
}
