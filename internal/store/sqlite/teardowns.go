package sqlite

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/internal/store"
)

const teardownColumns = `name, app_id, node_id, attempt_id, created_at, failures, last_cause`

func scanTeardown(r rowScanner) (p store.PendingTeardown, err error) {
	err = r.Scan(&p.Name, &p.AppID, &p.NodeID, &p.AttemptID, asTime(&p.CreatedAt), &p.Failures, &p.LastCause)
	return p, err
}

// AddPendingTeardown implements store.Store. The app and the attempt are those
// of the desired service, else of its newest release. One that is pending
// already keeps its history and goes to the node.
func (s *Store) AddPendingTeardown(ctx context.Context, name, nodeID string) error {
	now := s.now()
	err := s.writer.do(ctx, func(t *tx) error {
		t.note.service(name)
		return t.do(`INSERT INTO pending_teardowns (`+teardownColumns+`) VALUES (?1,
				coalesce((SELECT app_id FROM services WHERE name = ?1),
					(SELECT app_id FROM releases WHERE service = ?1 ORDER BY version DESC LIMIT 1), ''),
				?2, coalesce((SELECT attempt_id FROM services WHERE name = ?1),
					(SELECT attempt_id FROM releases WHERE service = ?1 ORDER BY version DESC LIMIT 1), 0),
				?3, 0, '')
			ON CONFLICT (name) DO UPDATE SET node_id = excluded.node_id`, name, nodeID, stamp(now))
	})
	if err != nil {
		return fmt.Errorf("record the teardown of %s: %w", name, err)
	}
	return nil
}

// DeletePendingTeardown implements store.Store. Without one it succeeds. In
// the same transaction an app that is being deleted goes with its last one.
func (s *Store) DeletePendingTeardown(ctx context.Context, name string) error {
	err := s.writer.do(ctx, func(t *tx) error {
		app, _, err := one(t.ctx, t, scanAs[string], `SELECT app_id FROM pending_teardowns WHERE name = ?`, name)
		if err != nil {
			return err
		}
		if err := t.do(`DELETE FROM pending_teardowns WHERE name = ?`, name); err != nil {
			return err
		}
		return t.dropApp(app)
	})
	if err != nil {
		return fmt.Errorf("end the teardown of %s: %w", name, err)
	}
	return nil
}

// RecordPendingTeardownFailure implements store.Store. Without a pending
// teardown of the name it is store.ErrNotFound.
func (s *Store) RecordPendingTeardownFailure(ctx context.Context, name, cause string) error {
	err := s.writer.do(ctx, func(t *tx) error {
		n, err := t.count(`UPDATE pending_teardowns SET failures = failures + 1, last_cause = ? WHERE name = ?`, cause, name)
		if err == nil && n == 0 {
			return store.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("record a failed teardown of %s: %w", name, err)
	}
	return nil
}

// ListPendingTeardowns implements store.Store, by name.
func (s *Store) ListPendingTeardowns(ctx context.Context) ([]store.PendingTeardown, error) {
	all, err := list(ctx, s, scanTeardown, `SELECT `+teardownColumns+` FROM pending_teardowns ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list pending teardowns: %w", err)
	}
	return all, nil
}
