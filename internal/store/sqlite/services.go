package sqlite

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/internal/store"
)

const serviceColumns = `name, app_id, image, spec, generation, restart_nonce, local_image_id, replicas,
	release_id, attempt_id, suspended, stopped, maintenance_hold, updated_at`

func scanService(r rowScanner) (d store.DesiredService, err error) {
	err = r.Scan(&d.Name, &d.AppID, &d.Image, asJSON(&d.Spec), &d.Generation, &d.RestartNonce, &d.LocalImageID,
		&d.Replicas, &d.ReleaseID, &d.AttemptID, &d.Suspended, &d.Stopped, &d.MaintenanceHold, asTime(&d.UpdatedAt))
	return d, err
}

// GetDesiredService implements store.Store.
func (s *Store) GetDesiredService(ctx context.Context, name string) (*store.DesiredService, error) {
	d, ok, err := one(ctx, s, scanService, `SELECT `+serviceColumns+` FROM services WHERE name = ?`, name)
	if err != nil {
		return nil, fmt.Errorf("read service %s: %w", name, err)
	}
	if !ok {
		return nil, fmt.Errorf("%s: %w", name, store.ErrServiceNotFound)
	}
	return &d, nil
}

// ListDesiredServices implements store.Store, by name.
func (s *Store) ListDesiredServices(ctx context.Context, app string) ([]store.DesiredService, error) {
	text, args := `SELECT `+serviceColumns+` FROM services ORDER BY name`, []any(nil)
	if app != "" {
		text, args = `SELECT `+serviceColumns+` FROM services WHERE app_id = ? ORDER BY name`, []any{app}
	}
	all, err := list(ctx, s, scanService, text, args...)
	if err != nil {
		return nil, fmt.Errorf("list services: %w", err)
	}
	return all, nil
}

// putService writes the next generation of a service.
func (t *tx) putService(d *store.DesiredService) error {
	text, err := toJSON(d.Spec)
	if err != nil {
		return err
	}
	return t.do(`INSERT INTO services (`+serviceColumns+`)
		VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET image = excluded.image, spec = excluded.spec, generation = generation + 1,
			restart_nonce = excluded.restart_nonce, local_image_id = excluded.local_image_id,
			replicas = excluded.replicas, release_id = excluded.release_id, attempt_id = excluded.attempt_id,
			suspended = excluded.suspended, stopped = excluded.stopped, maintenance_hold = excluded.maintenance_hold,
			updated_at = excluded.updated_at`,
		d.Name, d.AppID, d.Image, text, d.RestartNonce, d.LocalImageID, d.Replicas,
		d.ReleaseID, d.AttemptID, d.Suspended, d.Stopped, d.MaintenanceHold, stamp(d.UpdatedAt))
}
