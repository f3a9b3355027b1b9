package sqlite

import (
	"database/sql"
	"net/url"
	"time"

	driver "modernc.org/sqlite"
)

const (
	// maxReaders bounds concurrent reads; each connection has a page cache.
	maxReaders = 4
	// idleReaders stay open between reads.
	idleReaders = 2
	// readerIdleTime is how long a further reader stays open unused.
	readerIdleTime = time.Minute
)

// writerDSN opens the file for the one writer. FULL syncs the log at every
// commit: what was answered survives a loss of power.
func writerDSN(path string) string {
	return dsn(path, "journal_mode(WAL)", "synchronous(FULL)", "cache_size(-2048)", "journal_size_limit(16777216)")
}

// readerDSN opens the file for reading alone.
func readerDSN(path string) string {
	return dsn(path, "query_only(1)", "cache_size(-512)")
}

func dsn(path string, pragmas ...string) string {
	q := url.Values{"_txlock": {"immediate"}, "_dqs": {"0"}}
	for _, p := range append([]string{"busy_timeout(5000)", "foreign_keys(1)", "trusted_schema(0)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

func openDB(dsn string, conns int) (*sql.DB, error) {
	c, err := driver.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(min(conns, idleReaders))
	if conns > 1 {
		db.SetConnMaxIdleTime(readerIdleTime)
	}
	return db, nil
}
