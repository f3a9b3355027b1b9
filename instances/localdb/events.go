package localdb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// ClaimRegistration registers an instance with a key, once: of any number of
// callers with different keys one succeeds, and the others get ErrClaimed. Its own
// key again succeeds. The time is that of the first registration. An instance that
// is not cached, or deleted, is ErrNotFound.
func (d *DB) ClaimRegistration(ctx context.Context, id, publicKey string, at time.Time) (registeredAt time.Time, err error) {
	if publicKey == "" || at.IsZero() {
		return time.Time{}, errors.New("register an instance: no key or no time")
	}
	err = d.write(ctx, "register instance "+id, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE instances SET registered_at = ?, instance_pub = ?
			WHERE id = ? AND registered_at IS NULL AND deleted_at IS NULL`, stamp(at), publicKey, id)
		if err != nil {
			return err
		}
		var holder string
		err = tx.QueryRowContext(ctx, `SELECT registered_at, instance_pub FROM instances WHERE id = ? AND deleted_at IS NULL`, id).
			Scan(asTime(&registeredAt), &holder)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNotFound
		case err == nil && holder != publicKey:
			return ErrClaimed
		}
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return registeredAt, nil
}

// SetHealth keeps a report unless a newer one is kept.
func (d *DB) SetHealth(ctx context.Context, id string, at time.Time, health json.RawMessage) error {
	return d.change(ctx, "keep the health of instance "+id,
		`UPDATE instances SET health = CASE WHEN ?1 >= COALESCE(health_at, ?1) THEN ?2 ELSE health END,
			health_at = MAX(?1, COALESCE(health_at, ?1)) WHERE id = ?3`, stamp(at), rawText(health), id)
}

// SetProviderState keeps what the provider says of an instance.
func (d *DB) SetProviderState(ctx context.Context, id string, state json.RawMessage) error {
	return d.change(ctx, "keep the provider's state of instance "+id,
		`UPDATE instances SET provider_state = ? WHERE id = ?`, rawText(state), id)
}

// SetCertificatesAt keeps when an instance got certificates for its workloads.
func (d *DB) SetCertificatesAt(ctx context.Context, id string, at time.Time) error {
	return d.change(ctx, "keep the certificates' time of instance "+id,
		`UPDATE instances SET certificates_at = MAX(?1, COALESCE(certificates_at, ?1)) WHERE id = ?2`, stamp(at), id)
}

// StartDrain keeps when the drain of an instance began, unless it had.
func (d *DB) StartDrain(ctx context.Context, id string, at time.Time) error {
	return d.change(ctx, "begin the drain of instance "+id,
		`UPDATE instances SET drain_started_at = COALESCE(drain_started_at, ?) WHERE id = ?`, stamp(at), id)
}

// AckDrain keeps when an instance was told to be drained, unless it had been.
func (d *DB) AckDrain(ctx context.Context, id string, at time.Time) error {
	return d.change(ctx, "end the drain of instance "+id,
		`UPDATE instances SET drain_acked_at = COALESCE(drain_acked_at, ?) WHERE id = ?`, stamp(at), id)
}

// DeleteInstance keeps when an instance was found to be gone, unless it had been.
// Its row stays until PurgeInstances.
func (d *DB) DeleteInstance(ctx context.Context, id string, at time.Time) error {
	return d.change(ctx, "delete instance "+id,
		`UPDATE instances SET deleted_at = COALESCE(deleted_at, ?) WHERE id = ?`, stamp(at), id)
}

// RestoreInstance takes back a DeleteInstance: the instance was seen again.
func (d *DB) RestoreInstance(ctx context.Context, id string) error {
	return d.change(ctx, "restore instance "+id, `UPDATE instances SET deleted_at = NULL WHERE id = ?`, id)
}

// change runs a statement on one instance. One that is not cached is ErrNotFound.
func (d *DB) change(ctx context.Context, what, statement string, args ...any) error {
	return d.write(ctx, what, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return ErrNotFound
	})
}
