package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/berth-cloud/berth/internal/store"
)

const (
	attemptColumns        = `id, app_id, kind, state, created_at, finished_at`
	attemptServiceColumns = `attempt_id, service, action, state, reason, message, release_id, updated_at, deadline_at`
)

func scanAttempt(r rowScanner) (a store.Attempt, err error) {
	err = r.Scan(&a.ID, &a.AppID, &a.Kind, &a.State, asTime(&a.CreatedAt), asTime(&a.FinishedAt))
	return a, err
}

func scanAttemptService(r rowScanner) (u store.AttemptService, err error) {
	err = r.Scan(&u.AttemptID, &u.Service, &u.Action, &u.State, &u.Reason, &u.Message, &u.ReleaseID,
		asTime(&u.UpdatedAt), asTime(&u.DeadlineAt))
	return u, err
}

// attempt reads an attempt with its services, by name.
func attempt(ctx context.Context, q queryer, id int64) (store.Attempt, error) {
	a, ok, err := one(ctx, q, scanAttempt, `SELECT `+attemptColumns+` FROM attempts WHERE id = ?`, id)
	if err != nil {
		return a, err
	}
	if !ok {
		return a, store.ErrNotFound
	}
	a.Services, err = list(ctx, q, scanAttemptService,
		`SELECT `+attemptServiceColumns+` FROM attempt_services WHERE attempt_id = ? ORDER BY service`, id)
	return a, err
}

// GetAttempt implements store.Store.
func (s *Store) GetAttempt(ctx context.Context, id int64) (a store.Attempt, err error) {
	err = s.view(ctx, func(q queryer) error {
		a, err = attempt(ctx, q, id)
		return err
	})
	if err != nil {
		return a, fmt.Errorf("attempt %d: %w", id, err)
	}
	return a, nil
}

// ListAttempts implements store.Store; a limit of 0 lists all.
func (s *Store) ListAttempts(ctx context.Context, app string, limit int) (all []store.Attempt, err error) {
	err = s.view(ctx, func(q queryer) error {
		all, err = attempts(ctx, q, app, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the attempts of app %s: %w", app, err)
	}
	return all, nil
}

func attempts(ctx context.Context, q queryer, app string, limit int) ([]store.Attempt, error) {
	all, err := list(ctx, q, scanAttempt,
		`SELECT `+attemptColumns+` FROM attempts WHERE app_id = ? ORDER BY id DESC LIMIT ?`, app, atMost(limit))
	if err != nil || len(all) == 0 {
		return nil, err
	}
	parts, err := list(ctx, q, scanAttemptService, `SELECT `+attemptServiceColumns+` FROM attempt_services
		WHERE attempt_id IN (SELECT id FROM attempts WHERE app_id = ? AND id BETWEEN ? AND ?) ORDER BY attempt_id DESC, service`,
		app, all[len(all)-1].ID, all[0].ID)
	if err != nil {
		return nil, err
	}
	i := 0
	for _, p := range parts {
		for all[i].ID != p.AttemptID {
			i++
		}
		all[i].Services = append(all[i].Services, p)
	}
	return all, nil
}

// OpenAttempts implements store.Store, oldest first.
func (s *Store) OpenAttempts(ctx context.Context, service string) ([]store.AttemptService, error) {
	all, err := list(ctx, s, scanAttemptService, `SELECT `+attemptServiceColumns+` FROM attempt_services
		WHERE service = ? AND state IN ('queued', 'running') ORDER BY attempt_id`, service)
	if err != nil {
		return nil, fmt.Errorf("list the open attempts of %s: %w", service, err)
	}
	return all, nil
}

// UpdateAttemptService implements store.Store. The action stays what the
// change said, a release id that was written stays when u has none, and a row
// that would differ in UpdatedAt alone is left. A service that is not part of
// the attempt is store.ErrNotFound.
func (s *Store) UpdateAttemptService(ctx context.Context, u store.AttemptService) error {
	if u.UpdatedAt.IsZero() {
		u.UpdatedAt = s.now()
	}
	err := s.writer.do(ctx, func(t *tx) error { return t.updateAttemptService(&u) })
	if err != nil {
		return fmt.Errorf("record attempt %d of %s: %w", u.AttemptID, u.Service, err)
	}
	return nil
}

func (t *tx) updateAttemptService(u *store.AttemptService) error {
	old, ok, err := one(t.ctx, t, scanAttemptService,
		`SELECT `+attemptServiceColumns+` FROM attempt_services WHERE attempt_id = ? AND service = ?`, u.AttemptID, u.Service)
	if err != nil {
		return err
	}
	if !ok {
		return store.ErrNotFound
	}
	if old.State.Final() {
		return nil
	}
	changed, err := t.count(`UPDATE attempt_services SET state = ?1, reason = ?2, message = ?3,
			release_id = coalesce(nullif(?4, ''), release_id), updated_at = ?5, deadline_at = ?6
		WHERE attempt_id = ?7 AND service = ?8 AND (state <> ?1 OR reason <> ?2 OR message <> ?3
			OR release_id <> coalesce(nullif(?4, ''), release_id) OR deadline_at IS NOT ?6)`,
		string(u.State), u.Reason, u.Message, u.ReleaseID, stamp(u.UpdatedAt), stamp(u.DeadlineAt), u.AttemptID, u.Service)
	if err != nil || changed == 0 {
		return err
	}
	t.note.attempt(u.AttemptID)
	if !u.State.Final() {
		return nil
	}
	return t.settle(u.AttemptID, u.UpdatedAt)
}

// settle gives an attempt the state that follows from its services, once they
// are all final.
func (t *tx) settle(id int64, now time.Time) error {
	return t.do(`UPDATE attempts SET finished_at = ?2, state = CASE
			WHEN EXISTS (SELECT 1 FROM attempt_services WHERE attempt_id = ?1 AND state = 'failed') THEN 'failed'
			WHEN EXISTS (SELECT 1 FROM attempt_services WHERE attempt_id = ?1 AND state = 'superseded') THEN 'superseded'
			ELSE 'succeeded' END
		WHERE id = ?1 AND state IN ('queued', 'running')
			AND NOT EXISTS (SELECT 1 FROM attempt_services WHERE attempt_id = ?1 AND state IN ('queued', 'running'))`,
		id, stamp(now))
}
