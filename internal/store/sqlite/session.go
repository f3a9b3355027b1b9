package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// connectTimeout bounds opening a connection.
const connectTimeout = 10 * time.Second

// session is the writer's connection with its prepared statements, one per
// statement text in this package.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func openSession(db *sql.DB) (*session, error) {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	return &session{conn, map[string]*sql.Stmt{}}, nil
}

func (s *session) stmt(ctx context.Context, text string) (*sql.Stmt, error) {
	if st, ok := s.stmts[text]; ok {
		return st, nil
	}
	st, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	s.stmts[text] = st
	return st, nil
}

func (s *session) exec(ctx context.Context, text string, args ...any) error {
	st, err := s.stmt(ctx, text)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(ctx, args...)
	return err
}

// attempt runs one write under a savepoint. The first error is the closure's,
// whose changes are undone; the second says that the transaction is lost.
func (s *session) attempt(j *write) (failed, broken error) {
	ctx := context.WithoutCancel(j.ctx)
	if err := s.exec(ctx, "SAVEPOINT one"); err != nil {
		return nil, fmt.Errorf("begin a write: %w", err)
	}
	t := &tx{session: s, ctx: ctx}
	if failed = t.run(j.run); failed != nil {
		if err := s.exec(ctx, "ROLLBACK TO one"); err != nil {
			return failed, errors.Join(fmt.Errorf("undo a write: %w", err), failed)
		}
	}
	if err := s.exec(ctx, "RELEASE one"); err != nil {
		return failed, fmt.Errorf("end a write: %w", err)
	}
	j.note = t.note
	return failed, nil
}

// discard closes the connection for good, whatever its state.
func (s *session) discard() {
	for _, st := range s.stmts {
		_ = st.Close()
	}
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = s.conn.Close()
}

// tx is what a write's closure works with. It collects what the commit will
// have touched.
type tx struct {
	*session
	ctx  context.Context
	note noteSet
}

// run turns a panic of the closure into its error: the writer must live on.
func (t *tx) run(fn func(*tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a write panicked: %v", p)
		}
	}()
	return fn(t)
}

func (t *tx) query(_ context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := t.stmt(t.ctx, text)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(t.ctx, args...)
}

// do executes a statement for its effect.
func (t *tx) do(text string, args ...any) error { return t.exec(t.ctx, text, args...) }

// count executes a statement and says how many rows it changed.
func (t *tx) count(text string, args ...any) (int64, error) {
	st, err := t.stmt(t.ctx, text)
	if err != nil {
		return 0, err
	}
	r, err := st.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}
