package localdb

import (
	"context"
	"database/sql"
	"errors"
)

// SaveImage keeps what an image's name means, unless a newer meaning is kept.
func (d *DB) SaveImage(ctx context.Context, i Image) error {
	return d.write(ctx, "cache image "+i.Name, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO images (name, image_id, resolved_at) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET image_id = excluded.image_id, resolved_at = excluded.resolved_at
			WHERE resolved_at IS NULL OR excluded.resolved_at >= resolved_at`, i.Name, i.ImageID, stamp(i.ResolvedAt))
		return refusal(err)
	})
}

func (i *Image) scan(read func(...any) error) error {
	return read(&i.Name, &i.ImageID, asTime(&i.ResolvedAt))
}

// Image returns what a name meant. One that is not cached is ErrNotFound.
func (d *DB) Image(ctx context.Context, name string) (Image, error) {
	var i Image
	err := i.scan(d.pool().QueryRowContext(ctx, `SELECT name, image_id, resolved_at FROM images WHERE name = ?`, name).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	if err != nil {
		return Image{}, failed("look up image "+name, err)
	}
	return i, nil
}

// Images returns all, in the order of their names.
func (d *DB) Images(ctx context.Context) ([]Image, error) {
	return list(ctx, d, "look up images", (*Image).scan, `SELECT name, image_id, resolved_at FROM images ORDER BY name`)
}
