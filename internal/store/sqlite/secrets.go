package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"github.com/berth-cloud/berth/secrets"
)

// secretRows keeps the rows of sealed secrets.
type secretRows struct{ s *Store }

var _ secrets.Blobs = secretRows{}

// Secrets implements store.Store.
func (s *Store) Secrets() secrets.Blobs { return secretRows{s} }

// Tenants implements secrets.Blobs.
func (r secretRows) Tenants(ctx context.Context, after string, limit int) ([]string, error) {
	page, err := list(ctx, r.s, scanAs[string], `SELECT tenant FROM secret_keys WHERE tenant > ?1
		UNION SELECT tenant FROM secret_values WHERE tenant > ?1 ORDER BY tenant LIMIT ?2`, after, max(limit, 1))
	if err != nil {
		return nil, fmt.Errorf("list the tenants of secrets: %w", err)
	}
	return page, nil
}

// DataKey implements secrets.Blobs.
func (r secretRows) DataKey(ctx context.Context, tenant string) ([]byte, error) {
	if err := secrets.CheckTenant(tenant); err != nil {
		return nil, err
	}
	key, ok, err := dataKey(ctx, r.s, tenant)
	if err != nil {
		return nil, fmt.Errorf("read the data key of %s: %w", tenant, err)
	}
	if !ok {
		return nil, fmt.Errorf("%w: the data key of %s", secrets.ErrNotFound, tenant)
	}
	return key, nil
}

func dataKey(ctx context.Context, q queryer, tenant string) ([]byte, bool, error) {
	return one(ctx, q, scanAs[[]byte], `SELECT wrapped FROM secret_keys WHERE tenant = ?`, tenant)
}

// SetDataKey implements secrets.Blobs.
func (r secretRows) SetDataKey(ctx context.Context, tenant string, old, wrapped []byte) error {
	if err := cmp.Or(secrets.CheckTenant(tenant), secrets.CheckWrapped(wrapped)); err != nil {
		return err
	}
	wrapped = bytes.Clone(wrapped) // the caller may be gone when it is written
	err := r.s.writer.do(ctx, func(t *tx) error {
		is, ok, err := dataKey(t.ctx, t, tenant)
		if err != nil {
			return err
		}
		if ok != (old != nil) || !bytes.Equal(is, old) {
			return secrets.ErrConflict
		}
		return t.do(`INSERT INTO secret_keys (tenant, wrapped) VALUES (?, ?)
			ON CONFLICT (tenant) DO UPDATE SET wrapped = excluded.wrapped`, tenant, wrapped)
	})
	if err != nil {
		return fmt.Errorf("write the data key of %s: %w", tenant, err)
	}
	return nil
}

func scanSealed(r rowScanner) (v secrets.SealedValue, err error) {
	err = r.Scan(&v.Version, &v.Sealed, asTime(&v.CreatedAt))
	return v, err
}

// Value implements secrets.Blobs.
func (r secretRows) Value(ctx context.Context, ref secrets.Ref, v secrets.Version) (secrets.SealedValue, error) {
	if err := ref.Check(); err != nil {
		return secrets.SealedValue{}, err
	}
	value, ok, err := one(ctx, r.s, scanSealed, `SELECT version, sealed, created_at FROM secret_values
		WHERE tenant = ?1 AND key = ?2 AND (?3 = 0 OR version = ?3) ORDER BY version DESC LIMIT 1`, ref.Tenant, ref.Key, int64(v))
	if err != nil {
		return secrets.SealedValue{}, fmt.Errorf("read secret %s: %w", ref, err)
	}
	if !ok {
		return secrets.SealedValue{}, fmt.Errorf("%w: %s version %d", secrets.ErrNotFound, ref, v)
	}
	return value, nil
}

// NextVersion implements secrets.Blobs.
func (r secretRows) NextVersion(ctx context.Context, ref secrets.Ref) (secrets.Version, error) {
	if err := ref.Check(); err != nil {
		return 0, err
	}
	next, err := nextSecretVersion(ctx, r.s, ref)
	if err != nil {
		return 0, fmt.Errorf("read the next version of secret %s: %w", ref, err)
	}
	return next, nil
}

func nextSecretVersion(ctx context.Context, q queryer, ref secrets.Ref) (secrets.Version, error) {
	v, _, err := one(ctx, q, scanAs[secrets.Version], `SELECT 1 + coalesce(
		(SELECT max(version) FROM secret_values WHERE tenant = ?1 AND key = ?2),
		(SELECT floor FROM secret_floors WHERE tenant = ?1), 0)`, ref.Tenant, ref.Key)
	return v, err
}

// AddValue implements secrets.Blobs.
func (r secretRows) AddValue(ctx context.Context, ref secrets.Ref, v secrets.SealedValue) error {
	if err := cmp.Or(ref.Check(), secrets.CheckSealed(v.Sealed)); err != nil {
		return err
	}
	sealed := append([]byte{}, v.Sealed...)
	err := r.s.writer.do(ctx, func(t *tx) error {
		next, err := nextSecretVersion(t.ctx, t, ref)
		if err != nil {
			return err
		}
		if v.Version != next {
			return fmt.Errorf("%w: version %d was to be stored, the next is %d", secrets.ErrConflict, v.Version, next)
		}
		return t.do(`INSERT INTO secret_values (tenant, key, version, sealed, created_at) VALUES (?, ?, ?, ?, ?)`,
			ref.Tenant, ref.Key, int64(v.Version), sealed, stamp(v.CreatedAt))
	})
	if err != nil {
		return fmt.Errorf("write secret %s: %w", ref, err)
	}
	return nil
}

func scanSecret(r rowScanner) (m secrets.Metadata, err error) {
	err = r.Scan(&m.Key, &m.Version, asTime(&m.CreatedAt), asTime(&m.UpdatedAt))
	return m, err
}

// ListValues implements secrets.Blobs.
func (r secretRows) ListValues(ctx context.Context, tenant string) ([]secrets.Metadata, error) {
	if err := secrets.CheckTenant(tenant); err != nil {
		return nil, err
	}
	all, err := list(ctx, r.s, scanSecret, `SELECT n.key, n.newest,
			(SELECT created_at FROM secret_values WHERE tenant = ?1 AND key = n.key AND version = n.oldest),
			(SELECT created_at FROM secret_values WHERE tenant = ?1 AND key = n.key AND version = n.newest)
		FROM (SELECT key, min(version) AS oldest, max(version) AS newest FROM secret_values WHERE tenant = ?1 GROUP BY key) n
		ORDER BY n.key`, tenant)
	if err != nil {
		return nil, fmt.Errorf("list the secrets of %s: %w", tenant, err)
	}
	return all, nil
}

// DeleteValues implements secrets.Blobs.
func (r secretRows) DeleteValues(ctx context.Context, ref secrets.Ref) error {
	if err := ref.Check(); err != nil {
		return err
	}
	err := r.s.writer.do(ctx, func(t *tx) error {
		err := t.do(`INSERT INTO secret_floors (tenant, floor)
			SELECT tenant, max(version) FROM secret_values WHERE tenant = ?1 AND key = ?2 GROUP BY tenant
			ON CONFLICT (tenant) DO UPDATE SET floor = max(floor, excluded.floor)`, ref.Tenant, ref.Key)
		if err != nil {
			return err
		}
		return t.do(`DELETE FROM secret_values WHERE tenant = ? AND key = ?`, ref.Tenant, ref.Key)
	})
	if err != nil {
		return fmt.Errorf("delete secret %s: %w", ref, err)
	}
	return nil
}
