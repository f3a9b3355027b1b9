package storage

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// watch is a context that ends when nothing happens for a time.
type watch struct {
	context.Context
	timer *time.Timer
	idle  time.Duration
	end   context.CancelFunc
}

func newWatch(ctx context.Context, idle time.Duration) *watch {
	ctx, cancel := context.WithCancel(ctx)
	return &watch{ctx, time.AfterFunc(idle, cancel), idle, cancel}
}

// moved begins the time anew.
func (w *watch) moved() {
	if w.Err() == nil {
		w.timer.Reset(w.idle)
	}
}

func (w *watch) stop() {
	w.timer.Stop()
	w.end()
}

// watchedReader is a source whose every read counts. It hides that the source can
// seek: what was sent is not sent again.
type watchedReader struct {
	w *watch

	mu   sync.Mutex
	r    io.Reader
	shut bool
}

func (r *watchedReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.shut {
		return 0, io.ErrClosedPipe
	}
	n, err := r.r.Read(p)
	r.w.moved()
	return n, err
}

// finish waits for a read that is under way and lets no other begin. A store may
// answer early, and the client then still reads what is no longer sent.
func (r *watchedReader) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = true
}

// watchedBody is an object that is read; a read that waits too long fails. Between
// reads the caller may take its time.
type watchedBody struct {
	asked context.Context
	key   string
	body  io.ReadCloser
	w     *watch
	once  sync.Once
	err   error
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.w.moved()
	n, err := b.body.Read(p)
	b.w.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) {
		return n, fault(b.asked, "read", b.key, err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	b.once.Do(func() {
		b.w.stop()
		b.err = b.body.Close()
	})
	return b.err
}
