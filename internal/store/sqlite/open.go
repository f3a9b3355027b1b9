package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/store"
)

// Options say where the database is.
type Options struct {
	// Dir is the data directory. It is created with mode 0700 when missing;
	// the files in it have mode 0600.
	Dir string
	// Logger gets warnings; nil discards them.
	Logger *slog.Logger
	// Now is the clock for rows whose writer gives no time; nil is time.Now.
	Now func() time.Time
}

// Store is a store.Store in one SQLite file.
type Store struct {
	log    *slog.Logger
	now    func() time.Time
	lock   *dirLock
	writer *writer
	reader *reader
	hub    *hub

	closeOnce sync.Once
	closeErr  error
}

var _ store.Store = (*Store)(nil)

// Open locks the data directory, brings the schema up to date and returns the
// store. A directory that another process (or another Store of this one) holds
// is store.ErrLocked; the text names the holder.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{log: o.Logger, now: o.Now, hub: newHub()}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.now == nil {
		s.now = time.Now
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("data directory %q: %w", o.Dir, err)
	}
	if err := s.open(ctx, dir); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// open leaves what it opened in s, for Close to end also after a failure.
func (s *Store) open(ctx context.Context, dir string) error {
	root, err := openDir(dir, s.log)
	if err != nil {
		return err
	}
	defer root.Close()
	if s.lock, err = lockDir(root, dir, os.Getpid(), s.now()); err != nil {
		return err
	}
	// The lock comes first: closing a file of the database would drop the
	// locks that SQLite holds on it elsewhere in this process.
	if err := prepareFile(root, databaseFile); err != nil {
		return err
	}
	path := filepath.Join(dir, databaseFile)
	writeDB, err := openDB(writerDSN(path), 1)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	if err := migrate(ctx, writeDB, path); err != nil {
		_ = writeDB.Close()
		return err
	}
	s.writer = startWriter(writeDB, s.hub.publish, s.log)
	readDB, err := openDB(readerDSN(path), maxReaders)
	if err != nil {
		return fmt.Errorf("open %s for reading: %w", path, err)
	}
	s.reader = newReader(readDB)
	return nil
}

// Close commits what is queued, ends every Changes call and frees the data
// directory. Calls after it fail.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		var errs []error
		if s.writer != nil {
			errs = append(errs, s.writer.close())
		}
		s.hub.close()
		if s.reader != nil {
			errs = append(errs, s.reader.close())
		}
		if s.lock != nil {
			errs = append(errs, s.lock.release())
		}
		s.closeErr = joinClose(errs)
	})
	return s.closeErr
}
