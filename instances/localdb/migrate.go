package localdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// prepareTimeout bounds checking the file and bringing its schema up to date.
const prepareTimeout = 2 * time.Minute

// prepare checks the file, brings its schema up to date and returns its mark.
func prepare(ctx context.Context, db *sql.DB) (mark string, err error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	var sound string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&sound); err != nil {
		return "", fmt.Errorf("check the file: %w", err)
	}
	if sound != "ok" {
		return "", fmt.Errorf("%w: it is damaged: %s", errForeign, sound)
	}
	if err := migrate(ctx, db); err != nil {
		return "", err
	}
	if _, err := db.ExecContext(ctx, `INSERT OR IGNORE INTO meta (key, value) VALUES ('mark', ?)`, rand.Text()); err != nil {
		return "", fmt.Errorf("mark the file: %w", err)
	}
	err = db.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'mark'`).Scan(&mark)
	return mark, err
}

func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithTableName("schema_versions"),
		goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	has, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version: %w", err)
	}
	sources := p.ListSources()
	if newest := sources[len(sources)-1].Version; has > newest {
		return fmt.Errorf("%w: schema %d, this program knows %d", errForeign, has, newest)
	}
	if _, err := p.Up(ctx); err != nil {
		// A table is there that a migration was to make.
		var partial *goose.PartialError
		if errors.As(err, &partial) {
			err = errors.Join(partial.Err, err)
		}
		return fmt.Errorf("bring the schema up to date: %w", err)
	}
	return nil
}
