package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	driver "modernc.org/sqlite"

	"github.com/berth-cloud/berth/internal/store"
)

const (
	// maxQueue is how many writes may wait; further callers wait to enqueue.
	maxQueue = 256
	// maxBatch is how many writes share one commit.
	maxBatch = 128
)

// errClosed is what calls after Close get.
var errClosed = errors.New("the store is closed")

// The states of a write. Only a waiting one can be abandoned by its caller, so
// a caller that gives up knows that nothing was written.
const (
	waiting int32 = iota
	taken
	abandoned
)

// write is one caller's closure on its way through the writer.
type write struct {
	ctx   context.Context
	run   func(*tx) error
	state atomic.Int32
	note  noteSet
	err   error
	done  chan error
}

// writer owns the only connection that writes. While one commit is on its way
// to the disk the next writes gather, and they share the next commit; a lone
// write never waits for company.
type writer struct {
	db      *sql.DB
	log     *slog.Logger
	publish func(noteSet)
	queue   chan *write
	ended   chan struct{}

	mu     sync.RWMutex // held for reading while a write is enqueued
	closed bool

	conn *session // owned by the loop; nil after a failure it cannot undo
}

func startWriter(db *sql.DB, publish func(noteSet), log *slog.Logger) *writer {
	w := &writer{db: db, log: log, publish: publish, queue: make(chan *write, maxQueue), ended: make(chan struct{})}
	go w.loop()
	return w
}

// do runs the closure in a transaction and returns once that is durable, with
// the closure's error once it is undone. When ctx ends before the closure was
// begun nothing is written; once begun it is seen through.
func (w *writer) do(ctx context.Context, run func(*tx) error) error {
	j := &write{ctx: ctx, run: run, done: make(chan error, 1)}
	if err := w.enqueue(j); err != nil {
		return err
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		if j.state.CompareAndSwap(waiting, abandoned) {
			return ctx.Err()
		}
		return <-j.done
	}
}

func (w *writer) enqueue(j *write) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return errClosed
	}
	if err := j.ctx.Err(); err != nil {
		return err
	}
	select {
	case w.queue <- j:
		return nil
	case <-j.ctx.Done():
		return j.ctx.Err()
	}
}

func (w *writer) loop() {
	defer close(w.ended)
	batch := make([]*write, 0, maxBatch)
	for j := range w.queue {
		batch = append(batch[:0], j)
		batch = w.gather(batch)
		w.commit(batch)
		clear(batch)
	}
}

// gather adds what is queued already.
func (w *writer) gather(batch []*write) []*write {
	for len(batch) < maxBatch {
		select {
		case j, ok := <-w.queue:
			if !ok {
				return batch
			}
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// commit runs the batch in one transaction and answers every caller. What the
// batch touched is published first: when a write returns, its note is pending.
func (w *writer) commit(batch []*write) {
	err := w.transact(batch)
	var notes noteSet
	for _, j := range batch {
		if err != nil && j.err == nil {
			j.err = err
		}
		if j.err == nil {
			notes.merge(j.note)
		}
	}
	if !notes.empty() {
		w.publish(notes)
	}
	for _, j := range batch {
		j.done <- told(j.err)
	}
}

// full is SQLite's code for a disk without space.
const full = 13

// told adds the store's own error to one of SQLite that a caller can act on.
func told(err error) error {
	var e *driver.Error
	if errors.As(err, &e) && e.Code()&0xff == full {
		return fmt.Errorf("%w: %w", store.ErrNoSpace, err)
	}
	return err
}

// transact leaves in every write the error of its own closure; the error it
// returns is one that kept the whole batch from being committed.
func (w *writer) transact(batch []*write) error {
	if w.conn == nil {
		conn, err := openSession(w.db)
		if err != nil {
			return fmt.Errorf("open the database for writing: %w", err)
		}
		w.conn = conn
	}
	ctx := context.Background() // a commit is not torn by a caller that gives up
	if err := w.conn.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return fmt.Errorf("begin a write: %w", err)
	}
	done := 0
	for _, j := range batch {
		if !j.state.CompareAndSwap(waiting, taken) {
			continue
		}
		var broken error
		if j.err, broken = w.conn.attempt(j); broken != nil {
			return w.undo(ctx, broken)
		}
		if j.err == nil {
			done++
		}
	}
	if done == 0 {
		return w.undo(ctx, nil)
	}
	if err := w.conn.exec(ctx, "COMMIT"); err != nil {
		return w.undo(ctx, fmt.Errorf("commit: %w", err))
	}
	return nil
}

// undo rolls the batch back and returns cause. SQLite may have rolled back by
// itself; a connection whose state is unknown is given up.
func (w *writer) undo(ctx context.Context, cause error) error {
	if err := w.conn.exec(ctx, "ROLLBACK"); err != nil {
		w.log.Error("a write could not be rolled back; its connection is given up",
			slog.Any("error", err), slog.Any("cause", cause))
		w.conn.discard()
		w.conn = nil
	}
	return cause
}

// close commits what is queued and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.ended
	if w.conn != nil {
		w.conn.discard()
		w.conn = nil
	}
	return w.db.Close()
}
