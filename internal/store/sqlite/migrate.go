package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrateTimeout bounds bringing the schema up to date.
const migrateTimeout = 2 * time.Minute

// migrate brings the schema up to date. A file that a newer program wrote is
// refused, since this one would not keep what it does not know.
func migrate(ctx context.Context, db *sql.DB, path string) error {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("schema of %s: %w", path, err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithTableName("schema_versions"),
		goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("schema of %s: %w", path, err)
	}
	has, err := p.GetDBVersion(ctx)
	if err != nil {
		return fmt.Errorf("read the schema version of %s: %w", path, err)
	}
	sources := p.ListSources()
	if newest := sources[len(sources)-1].Version; has > newest {
		return fmt.Errorf("%s was written by a newer version (schema %d, this program knows %d); start that version",
			path, has, newest)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("bring the schema of %s up to date: %w", path, err)
	}
	return nil
}
