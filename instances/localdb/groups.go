package localdb

import (
	"context"
	"database/sql"
	"errors"
)

// SaveGroup keeps a group. Its creation stays; all else is as in g.
func (d *DB) SaveGroup(ctx context.Context, g Group) error {
	return d.write(ctx, "cache group "+g.Tenant+"/"+g.Key, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO groups (tenant, group_key, runtime_config_hash, infra_config_hash, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (tenant, group_key) DO UPDATE SET
			runtime_config_hash = excluded.runtime_config_hash, infra_config_hash = excluded.infra_config_hash,
			created_at = COALESCE(created_at, excluded.created_at), updated_at = excluded.updated_at`,
			g.Tenant, g.Key, g.RuntimeConfigHash, g.InfraConfigHash, stamp(g.CreatedAt), stamp(g.UpdatedAt))
		return refusal(err)
	})
}

const selectGroup = `SELECT tenant, group_key, runtime_config_hash, infra_config_hash, created_at, updated_at FROM groups `

func (g *Group) scan(read func(...any) error) error {
	return read(&g.Tenant, &g.Key, &g.RuntimeConfigHash, &g.InfraConfigHash, asTime(&g.CreatedAt), asTime(&g.UpdatedAt))
}

// Group returns a group of a tenant. One that is not cached is ErrNotFound.
func (d *DB) Group(ctx context.Context, tenant, key string) (Group, error) {
	var g Group
	err := g.scan(d.pool().QueryRowContext(ctx, selectGroup+`WHERE tenant = ? AND group_key = ?`, tenant, key).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return Group{}, failed("look up group "+tenant+"/"+key, err)
	}
	return g, nil
}

// Groups returns the groups of a tenant, or of all with an empty one, in the order
// of tenant and key.
func (d *DB) Groups(ctx context.Context, tenant string) ([]Group, error) {
	return list(ctx, d, "look up groups", (*Group).scan, selectGroup+`WHERE ?1 = '' OR tenant = ?1 ORDER BY tenant, group_key`, tenant)
}

// DeleteGroup forgets a group. One that is not cached succeeds.
func (d *DB) DeleteGroup(ctx context.Context, tenant, key string) error {
	return d.write(ctx, "forget group "+tenant+"/"+key, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM groups WHERE tenant = ? AND group_key = ?`, tenant, key)
		return err
	})
}

// list reads rows.
func list[T any](ctx context.Context, d *DB, what string, scan func(*T, func(...any) error) error, query string, args ...any) ([]T, error) {
	rows, err := d.pool().QueryContext(ctx, query, args...)
	if err != nil {
		return nil, failed(what, err)
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var one T
		if err := scan(&one, rows.Scan); err != nil {
			return nil, failed(what, err)
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		return nil, failed(what, err)
	}
	return all, nil
}
