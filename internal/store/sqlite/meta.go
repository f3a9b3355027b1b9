package sqlite

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
)

// InstanceID implements store.Store.
func (s *Store) InstanceID(ctx context.Context) (string, error) {
	const read = `SELECT value FROM meta WHERE key = 'instance_id'`
	id, ok, err := one(ctx, s, scanAs[string], read)
	if err != nil {
		return "", fmt.Errorf("read the instance id: %w", err)
	}
	if ok {
		return id, nil
	}
	err = s.writer.do(ctx, func(t *tx) error {
		err := t.do(`INSERT INTO meta (key, value) VALUES ('instance_id', ?) ON CONFLICT DO NOTHING`,
			strings.ToLower(rand.Text()))
		if err != nil {
			return err
		}
		id, _, err = one(t.ctx, t, scanAs[string], read)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("make the instance id: %w", err)
	}
	return id, nil
}

func routeVersion(ctx context.Context, q queryer) (int64, error) {
	v, _, err := one(ctx, q, scanAs[int64], `SELECT value FROM counters WHERE name = 'route_version'`)
	return v, err
}

// takeRouteVersion makes the next route version the newest.
func (t *tx) takeRouteVersion() (int64, error) {
	v, _, err := one(t.ctx, t, scanAs[int64],
		`UPDATE counters SET value = value + 1 WHERE name = 'route_version' RETURNING value`)
	t.note.routes = true
	return v, err
}
