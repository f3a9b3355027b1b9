package sqlite

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/internal/store"
)

// Prune implements store.Store. The events of an attempt go with it; of the
// others the newest of each service of an attempt stay, keep of them and at
// least store.MinTraceKept. Events of an open attempt all stay.
func (s *Store) Prune(ctx context.Context, keep int) error {
	if keep < 0 {
		return fmt.Errorf("prune: cannot keep %d", keep)
	}
	err := s.writer.do(ctx, func(t *tx) error {
		if err := t.pruneAttempts(keep); err != nil {
			return err
		}
		if err := t.pruneTrace(max(keep, store.MinTraceKept)); err != nil {
			return err
		}
		return t.pruneLogs(keep)
	})
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	return nil
}

func (t *tx) pruneAttempts(keep int) error {
	return t.do(`DELETE FROM attempts WHERE state NOT IN ('queued', 'running') AND id IN (SELECT id FROM (SELECT id,
		row_number() OVER (PARTITION BY app_id ORDER BY id DESC) AS n FROM attempts) WHERE n > ?)`, keep)
}

func (t *tx) pruneTrace(keep int) error {
	err := t.do(`DELETE FROM trace_events WHERE attempt_id <> 0
		AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.id = trace_events.attempt_id)`)
	if err != nil {
		return err
	}
	return t.do(`DELETE FROM trace_events WHERE id IN (SELECT id FROM (SELECT id,
			row_number() OVER (PARTITION BY attempt_id, service ORDER BY id DESC) AS n FROM trace_events) WHERE n > ?)
		AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.id = trace_events.attempt_id AND a.state IN ('queued', 'running'))`, keep)
}

// pruneLogs drops all logs of a service when every app that ever had it is gone:
// nobody can ask for them any more.
func (t *tx) pruneLogs(keep int) error {
	err := t.do(`DELETE FROM kept_logs WHERE service IN (SELECT r.service FROM releases r
		LEFT JOIN apps a ON a.name = r.app_id GROUP BY r.service HAVING count(a.name) = 0)`)
	if err != nil {
		return err
	}
	return t.do(`DELETE FROM kept_logs WHERE rowid IN (SELECT rowid FROM (SELECT rowid, row_number()
		OVER (PARTITION BY service ORDER BY removed_at DESC, rowid DESC) AS n FROM kept_logs) WHERE n > ?)`, keep)
}
