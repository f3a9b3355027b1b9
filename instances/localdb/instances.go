package localdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	lib "modernc.org/sqlite/lib"
)

// SaveInstance keeps an instance, or merges it into what is known of it: what is
// empty in it changes nothing (but for tags, which are the record's); the first
// registration with its key, the first drain, a deletion and the creation stay;
// of health and of certificates the newer ones stay. So no save takes back what
// another learned meanwhile.
//
// An instance of another tenant or group, or with the token of another one, is
// ErrConflict; one from an older version of the record than is cached is ErrStale.
// Neither changes anything.
func (d *DB) SaveInstance(ctx context.Context, i Instance) error {
	what := "cache instance " + i.ID
	row, err := i.row()
	if err != nil {
		return failed(what, err)
	}
	return d.write(ctx, what, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, saveInstance, row...)
		if err != nil {
			return refusal(err)
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		var version int64
		if err := tx.QueryRowContext(ctx, `SELECT record_version FROM instances WHERE id = ? AND tenant = ? AND group_key = ? AND on_demand = ?`,
			i.ID, i.Tenant, i.Group, i.OnDemand).Scan(&version); errors.Is(err, sql.ErrNoRows) {
			return ErrConflict
		} else if err != nil {
			return err
		}
		return fmt.Errorf("%w: version %d, not %d", ErrStale, version, i.RecordVersion)
	})
}

// refusal names what a row breaks.
func refusal(err error) error {
	if codeOf(err) == lib.SQLITE_CONSTRAINT {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}

// ReplaceInstances makes the cache hold these instances and no others, as they
// are, in one step: nobody sees a part of them, and after a failure the cache is
// as it was.
func (d *DB) ReplaceInstances(ctx context.Context, all []Instance) error {
	return d.write(ctx, "fill the cache of instances", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM instances`); err != nil {
			return err
		}
		insert, err := tx.PrepareContext(ctx, insertInstance)
		if err != nil {
			return err
		}
		defer insert.Close()
		for i := range all {
			row, err := all[i].row()
			if err != nil {
				return fmt.Errorf("instance %s: %w", all[i].ID, err)
			}
			if _, err := insert.ExecContext(ctx, row...); err != nil {
				return fmt.Errorf("instance %s: %w", all[i].ID, refusal(err))
			}
		}
		return nil
	})
}

// Instance returns what is known of an instance, deleted ones included. One that
// is not cached is ErrNotFound.
func (d *DB) Instance(ctx context.Context, id string) (Instance, error) {
	return d.one(ctx, "look up instance "+id, `WHERE id = ?`, id)
}

// InstanceByNonce returns the instance whose registration token has the hash.
func (d *DB) InstanceByNonce(ctx context.Context, hash string) (Instance, error) {
	return d.one(ctx, "look up an instance by its token", `WHERE nonce_hash = ? AND nonce_hash <> ''`, hash)
}

func (d *DB) one(ctx context.Context, what, where string, args ...any) (Instance, error) {
	var i Instance
	err := i.scan(d.pool().QueryRowContext(ctx, selectInstance+where, args...).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return Instance{}, failed(what, err)
	}
	return i, nil
}

// Deleted says whether deleted instances are among those asked for.
type Deleted int

// The choices.
const (
	WithoutDeleted Deleted = iota
	WithDeleted
	OnlyDeleted
)

// Query says which instances are asked for. The zero Query means all that are not
// deleted.
type Query struct {
	// Tenant and Group are those of the instances. A Group is of its Tenant: one
	// without a Tenant is an error. Empty is any.
	Tenant string
	Group  string
	// OnDemand asks for instances that are on demand, or are not; nil for both.
	OnDemand *bool
	Deleted  Deleted
	// ProviderID is the provider's id; several instances had it where the provider
	// uses ids again.
	ProviderID string
}

func (q Query) where() (string, []any, error) {
	where, args := "WHERE 1", []any{}
	add := func(condition string, arg ...any) {
		where += " AND " + condition
		args = append(args, arg...)
	}
	if q.Group != "" && q.Tenant == "" {
		return "", nil, fmt.Errorf("group %q without its tenant", q.Group)
	}
	if q.Tenant != "" {
		add("tenant = ?", q.Tenant)
	}
	if q.Group != "" {
		add("group_key = ?", q.Group)
	}
	if q.OnDemand != nil {
		add("on_demand = ?", *q.OnDemand)
	}
	if q.ProviderID != "" {
		add("provider_id = ?", q.ProviderID)
	}
	switch q.Deleted {
	case WithoutDeleted:
		add("deleted_at IS NULL")
	case OnlyDeleted:
		add("deleted_at IS NOT NULL")
	}
	return where, args, nil
}

// Instances returns those that fit, the oldest first.
func (d *DB) Instances(ctx context.Context, q Query) ([]Instance, error) {
	const what = "look up instances"
	where, args, err := q.where()
	if err != nil {
		return nil, failed(what, err)
	}
	return list(ctx, d, what, (*Instance).scan, selectInstance+where+" ORDER BY created_at, id", args...)
}

// PurgeInstances forgets instances that were deleted before a time, and returns
// how many.
func (d *DB) PurgeInstances(ctx context.Context, before time.Time) (int, error) {
	var n int64
	err := d.write(ctx, "forget deleted instances", func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `DELETE FROM instances WHERE deleted_at < ?`, stamp(before))
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	return int(n), err
}
