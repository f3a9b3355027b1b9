package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

// queryer is a write transaction or a reader.
type queryer interface {
	query(ctx context.Context, text string, args ...any) (*sql.Rows, error)
}

// rowScanner is the row that a query is at.
type rowScanner interface{ Scan(dest ...any) error }

// reader reads through a small pool of connections. Its statements stay
// prepared: there are as many as texts in this package.
type reader struct {
	db *sql.DB

	mu    sync.Mutex
	stmts map[string]*sql.Stmt
}

func newReader(db *sql.DB) *reader { return &reader{db: db, stmts: map[string]*sql.Stmt{}} }

func (r *reader) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	r.mu.Lock()
	st, ok := r.stmts[text]
	r.mu.Unlock()
	if ok {
		return st, nil
	}
	st, err := r.db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, ok := r.stmts[text]; ok {
		_ = st.Close()
		return first, nil
	}
	r.stmts[text] = st
	return st, nil
}

func (r *reader) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, st := range r.stmts {
		_ = st.Close()
	}
	clear(r.stmts)
	return r.db.Close()
}

// query reads one statement.
func (s *Store) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := s.reader.stmt(ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

// snapshot reads several statements as of one commit. It holds its connection
// meanwhile and so must not wait for another one: it prepares as it goes.
type snapshot struct{ tx *sql.Tx }

func (s snapshot) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return s.tx.QueryContext(ctx, text, args...)
}

// view reads as of one commit.
func (s *Store) view(ctx context.Context, fn func(queryer) error) error {
	t, err := s.reader.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin a read: %w", err)
	}
	defer func() { _ = t.Rollback() }()
	return fn(snapshot{t})
}

// list reads every row.
func list[T any](ctx context.Context, q queryer, scan func(rowScanner) (T, error), text string, args ...any) (_ []T, err error) {
	rows, err := q.query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// one reads the first row; ok says whether there is one.
func one[T any](ctx context.Context, q queryer, scan func(rowScanner) (T, error), text string, args ...any) (v T, ok bool, err error) {
	all, err := list(ctx, q, scan, text, args...)
	if err != nil || len(all) == 0 {
		return v, false, err
	}
	return all[0], true, nil
}

// scanAs scans a single column.
func scanAs[T any](r rowScanner) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// atMost is a LIMIT: zero and below mean all.
func atMost(n int) int {
	if n <= 0 {
		return -1
	}
	return n
}
