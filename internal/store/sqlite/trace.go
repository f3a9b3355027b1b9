package sqlite

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/internal/store"
)

const traceColumns = `attempt_id, service, time, phase, status, message, container`

func scanTrace(r rowScanner) (e store.TraceEvent, err error) {
	err = r.Scan(&e.ID, &e.AttemptID, &e.Service, asTime(&e.Time), &e.Phase, &e.Status, &e.Message, &e.Container)
	return e, err
}

// AppendTrace implements store.Store. The store gives the ids, which grow in
// the order of the events; an event without a time gets the present one.
func (s *Store) AppendTrace(ctx context.Context, events ...store.TraceEvent) error {
	if len(events) == 0 {
		return nil
	}
	now := s.now()
	err := s.writer.do(ctx, func(t *tx) error {
		for _, e := range events {
			if e.Time.IsZero() {
				e.Time = now
			}
			err := t.do(`INSERT INTO trace_events (`+traceColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
				e.AttemptID, e.Service, stamp(e.Time), e.Phase, e.Status, e.Message, e.Container)
			if err != nil {
				return err
			}
			t.note.attempt(e.AttemptID)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append to the deploy trace: %w", err)
	}
	return nil
}

// ListTrace implements store.Store; a limit of 0 lists all.
func (s *Store) ListTrace(ctx context.Context, attempt, after int64, limit int) ([]store.TraceEvent, error) {
	all, err := list(ctx, s, scanTrace, `SELECT id, `+traceColumns+` FROM trace_events
		WHERE attempt_id = ? AND id > ? ORDER BY id LIMIT ?`, attempt, after, atMost(limit))
	if err != nil {
		return nil, fmt.Errorf("list the trace of attempt %d: %w", attempt, err)
	}
	return all, nil
}
