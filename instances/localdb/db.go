package localdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)

// DB is the cache. Methods are safe for concurrent use; one process uses a file at
// a time.
type DB struct {
	path string
	mu   sync.RWMutex
	db   *sql.DB // guarded by mu; see pool
	// writing holds a token while something is written: SQLite lets one write at
	// a time, and who waits here does not poll.
	writing chan struct{}
}

// Open opens the cache in a file, which it makes, with mode 0600, when it is
// missing. A file that is damaged, no database or of a newer program is removed
// and begun anew; one that cannot be read, written or locked is an error.
func Open(ctx context.Context, path string) (*DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open the cache of machines: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return nil, fmt.Errorf("open the cache of machines: %w", err)
	}
	db, err := open(ctx, path)
	if err != nil && ctx.Err() == nil && unusable(err) {
		if removed := remove(path); removed != nil {
			return nil, fmt.Errorf("open the cache of machines %s: %w", path, errors.Join(err, removed))
		}
		db, err = open(ctx, path)
	}
	if err != nil {
		return nil, fmt.Errorf("open the cache of machines %s: %w", path, err)
	}
	return &DB{path: path, db: db, writing: make(chan struct{}, 1)}, nil
}

func open(ctx context.Context, path string) (*sql.DB, error) {
	if err := createFile(path); err != nil {
		return nil, err
	}
	first, err := openPool(path, "", 1)
	if err != nil {
		return nil, err
	}
	made, err := prepare(ctx, first)
	if err := errors.Join(err, first.Close()); err != nil {
		return nil, err
	}
	db, err := openPool(path, made, maxConns)
	if err != nil {
		return nil, err
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// createFile makes sure that there is a file that is closed to others. SQLite
// gives the files beside it the same mode.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(fileMode), f.Close())
}

// remove removes the cache. The log goes first: it must not be applied to the
// file that comes next.
func remove(path string) error {
	for _, end := range []string{"-wal", "-shm", "-journal", ""} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Path is where the cache is.
func (d *DB) Path() string { return d.path }

// Close ends the use of the file, which stays.
func (d *DB) Close() error {
	if err := d.pool().Close(); err != nil {
		return fmt.Errorf("close the cache of machines: %w", err)
	}
	return nil
}

func (d *DB) pool() *sql.DB {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.db
}

// Renew removes the file and begins it anew, empty, after ErrLost. What is asked meanwhile
// may fail. After a failure it can be repeated.
func (d *DB) Renew(ctx context.Context) error {
	what := "begin the cache of machines anew"
	select {
	case d.writing <- struct{}{}:
		defer func() { <-d.writing }()
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(d.path), dirMode), remove(d.path)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	db, err := open(ctx, d.path)
	if err != nil {
		return failed(what, err)
	}
	d.mu.Lock()
	old := d.db
	d.db = db
	d.mu.Unlock()
	_ = old.Close() // of a file that is no more
	return nil
}

// write runs fn in a transaction, alone.
func (d *DB) write(ctx context.Context, what string, fn func(*sql.Tx) error) error {
	select {
	case d.writing <- struct{}{}:
		defer func() { <-d.writing }()
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", what, ctx.Err())
	}
	tx, err := d.pool().BeginTx(ctx, nil)
	if err != nil {
		return failed(what, err)
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback() // the first error says more
		return failed(what, err)
	}
	if err := tx.Commit(); err != nil {
		return failed(what, err)
	}
	return nil
}
