package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/store"
)

var errTest = errors.New("refused by the test")

// testWriter is a writer on a database of its own that counts its commits.
func testWriter(t *testing.T) (*writer, *atomic.Int32) {
	t.Helper()
	db, err := openDB(writerDSN(t.TempDir()+"/test.db"), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT;
		CREATE TABLE rows (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent (id), filler TEXT) STRICT`); err != nil {
		t.Fatal(err)
	}
	commits := &atomic.Int32{}
	w := startWriter(db, func(noteSet) { commits.Add(1) }, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	return w, commits
}

func insert(id int) func(*tx) error {
	return func(t *tx) error {
		t.note.routes = true
		return t.do(`INSERT INTO rows (id) VALUES (?)`, id)
	}
}

// ids are the rows there are.
func ids(t *testing.T, w *writer) string {
	t.Helper()
	var all []int64
	err := w.do(t.Context(), func(x *tx) (err error) {
		all, err = list(x.ctx, x, scanAs[int64], `SELECT id FROM rows ORDER BY id`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(all)
}

// hold keeps the writer busy until the returned function is called.
func hold(t *testing.T, w *writer) func() {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- w.do(context.Background(), func(*tx) error {
			close(begun)
			<-end
			return nil
		})
	}()
	wait(t, begun)
	return func() {
		close(end)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func wait(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(20 * time.Second):
		t.Fatal("waited in vain")
	}
}

// queued waits until n writes are queued.
func queued(t *testing.T, w *writer, n int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for len(w.queue) < n {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%d writes are queued, want %d", len(w.queue), n)
		}
	}
}

func TestWritesThatWaitShareOneCommit(t *testing.T) {
	w, commits := testWriter(t)
	release := hold(t, w)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			if err := w.do(t.Context(), insert(i)); err != nil {
				t.Error(err)
			}
		})
	}
	queued(t, w, 50)
	release()
	wg.Wait()
	if n := commits.Load(); n != 1 {
		t.Errorf("50 writes took %d commits", n)
	}
}

func TestFailingWriteUndoesItselfAlone(t *testing.T) {
	w, _ := testWriter(t)
	release := hold(t, w)
	writes := []struct {
		run  func(*tx) error
		says string
	}{
		{insert(1), ""},
		{func(x *tx) error { return errors.Join(insert(2)(x), errTest) }, errTest.Error()},
		{insert(3), ""},
		{func(x *tx) error { return errors.Join(insert(4)(x), insert(1)(x)) }, "UNIQUE"},
		{func(x *tx) error {
			if err := insert(5)(x); err != nil {
				return err
			}
			panic("oh")
		}, "panicked: oh"},
		{func(x *tx) error { return x.do(`INSERT INTO rows (id, parent) VALUES (6, 99)`) }, "FOREIGN KEY"},
		{func(x *tx) error { return x.do(`no SQL`) }, "syntax"},
		{insert(7), ""},
	}
	var wg sync.WaitGroup
	for i, c := range writes {
		wg.Go(func() {
			err := w.do(t.Context(), c.run)
			if (err == nil) != (c.says == "") || (err != nil && !strings.Contains(err.Error(), c.says)) {
				t.Errorf("write %d: %v, want %q", i, err, c.says)
			}
		})
		queued(t, w, i+1)
	}
	release()
	wg.Wait()
	if got := ids(t, w); got != "[1 3 7]" {
		t.Errorf("rows are %s", got)
	}
}

func TestFailedCommitFailsAllItsWritesAndNoOther(t *testing.T) {
	w, commits := testWriter(t)
	release := hold(t, w)
	var wg sync.WaitGroup
	for i, run := range []func(*tx) error{
		insert(1),
		func(x *tx) error {
			// Checked at the commit, which it breaks.
			return errors.Join(x.do(`PRAGMA defer_foreign_keys = 1`), x.do(`INSERT INTO rows (id, parent) VALUES (2, 99)`))
		},
		insert(3),
	} {
		wg.Go(func() {
			if err := w.do(t.Context(), run); err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
				t.Errorf("write %d: %v", i, err)
			}
		})
		queued(t, w, i+1)
	}
	release()
	wg.Wait()
	if n := commits.Load(); n != 0 {
		t.Errorf("%d notes of a failed commit", n)
	}
	if err := w.do(t.Context(), insert(4)); err != nil {
		t.Error(err)
	}
	if got := ids(t, w); got != "[4]" {
		t.Errorf("rows are %s", got)
	}
}

func TestLostTransactionFailsItsWritesAndTheWriterGoesOn(t *testing.T) {
	w, _ := testWriter(t)
	release := hold(t, w)
	var wg sync.WaitGroup
	for i, run := range []func(*tx) error{
		insert(1),
		func(x *tx) error { return x.do(`ROLLBACK`) }, // as SQLite itself may
		insert(3),
	} {
		wg.Go(func() {
			if err := w.do(t.Context(), run); err == nil {
				t.Errorf("write %d succeeded", i)
			}
		})
		queued(t, w, i+1)
	}
	release()
	wg.Wait()
	if err := w.do(t.Context(), insert(4)); err != nil {
		t.Error(err)
	}
	if got := ids(t, w); got != "[4]" {
		t.Errorf("rows are %s", got)
	}
}

func TestFullDiskFailsTheWriteAndEndsWithTheDisk(t *testing.T) {
	w, _ := testWriter(t)
	limit := func(pages int) {
		t.Helper()
		if err := w.do(t.Context(), func(x *tx) error { return x.do(fmt.Sprint(`PRAGMA max_page_count = `, pages)) }); err != nil {
			t.Fatal(err)
		}
	}
	big := func(x *tx) error {
		return x.do(`INSERT INTO rows (id, filler) VALUES (9, ?)`, strings.Repeat("x", 1<<20))
	}
	limit(10)
	if err := w.do(t.Context(), big); !errors.Is(err, store.ErrNoSpace) {
		t.Fatalf("got %v", err)
	}
	if err := w.do(t.Context(), insert(1)); err != nil {
		t.Error(err)
	}
	limit(10000)
	if err := w.do(t.Context(), big); err != nil {
		t.Error(err)
	}
	if got := ids(t, w); got != "[1 9]" {
		t.Errorf("rows are %s", got)
	}
}

func TestWriteGivenUpWhileItWaitsIsNotDone(t *testing.T) {
	w, _ := testWriter(t)
	release := hold(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { gone <- w.do(ctx, insert(1)) }()
	queued(t, w, 1)
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	if got := ids(t, w); got != "[]" {
		t.Errorf("rows are %s", got)
	}
}

func TestWriteThatWasBegunIsSeenThrough(t *testing.T) {
	w, _ := testWriter(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := w.do(ctx, func(x *tx) error {
		cancel()
		return insert(1)(x)
	})
	if err != nil {
		t.Error(err)
	}
	if got := ids(t, w); got != "[1]" {
		t.Errorf("rows are %s", got)
	}
}

func TestFullQueueMakesCallersWaitWithTheirContext(t *testing.T) {
	w, _ := testWriter(t)
	release := hold(t, w)
	var wg sync.WaitGroup
	for i := range maxQueue {
		wg.Go(func() {
			if err := w.do(t.Context(), insert(i)); err != nil {
				t.Error(err)
			}
		})
	}
	queued(t, w, maxQueue)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := w.do(ctx, insert(9999)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	release()
	wg.Wait()
	if got := ids(t, w); strings.Contains(got, "9999") || len(strings.Fields(got)) != maxQueue {
		t.Errorf("rows are %s", got)
	}
}

func TestCloseCommitsWhatIsQueued(t *testing.T) {
	w, commits := testWriter(t)
	release := hold(t, w)
	errs := make(chan error, 3)
	for i := range 3 {
		go func() { errs <- w.do(t.Context(), insert(i)) }()
	}
	queued(t, w, 3)
	closed := make(chan error, 1)
	go func() { closed <- w.close() }()
	release()
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if n := commits.Load(); n != 1 {
		t.Errorf("%d commits", n)
	}
	if err := w.do(t.Context(), insert(9)); !errors.Is(err, errClosed) {
		t.Errorf("got %v", err)
	}
}
