package sqlite

import (
	"bytes"
	"context"
	"fmt"

	"github.com/berth-cloud/berth/internal/store"
)

type recordRow struct {
	value   []byte
	version int64
}

func scanRecord(r rowScanner) (v recordRow, err error) {
	err = r.Scan(&v.value, &v.version)
	return v, err
}

// GetRecord implements store.Store.
func (s *Store) GetRecord(ctx context.Context, key string) ([]byte, int64, error) {
	row, ok, err := one(ctx, s, scanRecord, `SELECT value, version FROM records WHERE key = ?`, key)
	if err != nil {
		return nil, 0, fmt.Errorf("read record %s: %w", key, err)
	}
	if !ok {
		return nil, 0, fmt.Errorf("record %s: %w", key, store.ErrNotFound)
	}
	return row.value, row.version, nil
}

// PutRecord implements store.Store.
func (s *Store) PutRecord(ctx context.Context, key string, value []byte, prior int64) (version int64, err error) {
	value = bytes.Clone(value) // the caller may be gone when it is written
	if value == nil {
		value = []byte{}
	}
	err = s.writer.do(ctx, func(t *tx) error {
		is, err := t.recordVersion(key)
		if err != nil {
			return err
		}
		if is != prior {
			return store.ErrConflict
		}
		if version, _, err = one(t.ctx, t, scanAs[int64],
			`UPDATE counters SET value = value + 1 WHERE name = 'record_version' RETURNING value`); err != nil {
			return err
		}
		return t.do(`INSERT INTO records (key, value, version) VALUES (?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version`, key, value, version)
	})
	if err != nil {
		return 0, fmt.Errorf("write record %s: %w", key, err)
	}
	return version, nil
}

// recordVersion is the version of a record, 0 without one.
func (t *tx) recordVersion(key string) (int64, error) {
	v, _, err := one(t.ctx, t, scanAs[int64], `SELECT version FROM records WHERE key = ?`, key)
	return v, err
}

// DeleteRecord implements store.Store.
func (s *Store) DeleteRecord(ctx context.Context, key string, prior int64) error {
	err := s.writer.do(ctx, func(t *tx) error {
		is, err := t.recordVersion(key)
		switch {
		case err != nil:
			return err
		case is == 0:
			return store.ErrNotFound
		case is != prior:
			return store.ErrConflict
		}
		return t.do(`DELETE FROM records WHERE key = ?`, key)
	})
	if err != nil {
		return fmt.Errorf("delete record %s: %w", key, err)
	}
	return nil
}

// ListRecords implements store.Store.
func (s *Store) ListRecords(ctx context.Context, prefix string) ([]string, error) {
	keys, err := list(ctx, s, scanAs[string], `SELECT key FROM records WHERE substr(key, 1, length(?1)) = ?1 AND key >= ?1 ORDER BY key`, prefix)
	if err != nil {
		return nil, fmt.Errorf("list records %s: %w", prefix, err)
	}
	return keys, nil
}
