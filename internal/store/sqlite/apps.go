package sqlite

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/internal/store"
)

const appColumns = `name, created_at, deleting`

func scanApp(r rowScanner) (a store.App, err error) {
	err = r.Scan(&a.Name, asTime(&a.CreatedAt), &a.Deleting)
	return a, err
}

// GetApp implements store.Store.
func (s *Store) GetApp(ctx context.Context, name string) (store.App, error) {
	a, ok, err := one(ctx, s, scanApp, `SELECT `+appColumns+` FROM apps WHERE name = ?`, name)
	if err != nil {
		return a, fmt.Errorf("read app %s: %w", name, err)
	}
	if !ok {
		return a, fmt.Errorf("app %s: %w", name, store.ErrNotFound)
	}
	return a, nil
}

// ListApps implements store.Store, by name.
func (s *Store) ListApps(ctx context.Context) ([]store.App, error) {
	all, err := list(ctx, s, scanApp, `SELECT `+appColumns+` FROM apps ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list apps: %w", err)
	}
	return all, nil
}

// DeleteApp implements store.Store.
func (s *Store) DeleteApp(ctx context.Context, name string) error {
	err := s.writer.do(ctx, func(t *tx) error {
		return t.dropApp(name)
	})
	if err != nil {
		return fmt.Errorf("delete app %s: %w", name, err)
	}
	return nil
}

// dropApp removes an app that is being deleted and has nothing left.
func (t *tx) dropApp(name string) error {
	return t.do(`DELETE FROM apps WHERE name = ?1 AND deleting
		AND NOT EXISTS (SELECT 1 FROM services WHERE app_id = ?1)
		AND NOT EXISTS (SELECT 1 FROM pending_teardowns WHERE app_id = ?1)`, name)
}

// putApp writes the app of a change. Services put into an app that is being
// deleted keep it.
func (t *tx) putApp(c *store.Change) error {
	known, _, err := one(t.ctx, t, scanAs[bool], `SELECT 1 FROM apps WHERE name = ?`, c.AppID)
	if err != nil {
		return err
	}
	if !known && len(c.Put) == 0 && c.DeleteApp {
		return fmt.Errorf("app %s: %w", c.AppID, store.ErrNotFound)
	}
	return t.do(`INSERT INTO apps (name, created_at, deleting) VALUES (?1, ?2, ?3)
		ON CONFLICT (name) DO UPDATE SET deleting = CASE WHEN ?4 THEN ?3 ELSE max(deleting, ?3) END`,
		c.AppID, stamp(c.Now), c.DeleteApp, len(c.Put) > 0)
}
