package localdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"

	sqlite "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// maxConns bounds concurrent questions; each connection has a page cache.
const maxConns = 4

// pragmas are set on every connection. A cache may lose its last changes with the
// power, so NORMAL is enough; it is never damaged by that.
var pragmas = []string{
	"busy_timeout(5000)", "foreign_keys(1)", "trusted_schema(0)", "journal_mode(WAL)", "synchronous(NORMAL)",
	"cache_size(-2048)", "journal_size_limit(16777216)",
}

// openPool opens the file. With the mark of the file that was prepared, no other
// file that takes its place is ever used, nor made.
func openPool(path, mark string, conns int) (*sql.DB, error) {
	q := url.Values{"_txlock": {"immediate"}, "_dqs": {"0"}, "_pragma": pragmas, "mode": {"rw"}}
	inner, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector{inner, mark})
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// connector connects to one file alone.
type connector struct {
	driver.Connector
	mark string
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil || c.mark == "" {
		return conn, err
	}
	if err := c.check(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (c connector) check(ctx context.Context, conn driver.Conn) error {
	q, ok := conn.(driver.QueryerContext)
	if !ok {
		return errors.New("the driver has no QueryContext")
	}
	rows, err := q.QueryContext(ctx, `SELECT value FROM meta WHERE key = 'mark'`, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	defer rows.Close()
	value := make([]driver.Value, 1)
	if err := rows.Next(value); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if value[0] != c.mark {
		return fmt.Errorf("%w: another file is in its place", ErrLost)
	}
	return nil
}

// codeOf is SQLite's primary code of a failure, and 0 for any other.
func codeOf(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// failed says what was tried, and that the file is lost when it is.
func failed(what string, err error) error {
	switch codeOf(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_IOERR:
		if !errors.Is(err, ErrLost) {
			err = fmt.Errorf("%w: %w", ErrLost, err)
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// errForeign: the file has a schema that this program did not make.
var errForeign = errors.New("the schema is not of this program")

// unusable says that a file is to be begun anew, rather than another's, locked or
// on a disk that fails.
func unusable(err error) bool {
	switch codeOf(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT, lib.SQLITE_ERROR:
		return true
	}
	return errors.Is(err, errForeign)
}
