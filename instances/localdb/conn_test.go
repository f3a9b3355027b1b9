package localdb

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
)

func TestEveryConnectionHasThePragmas(t *testing.T) {
	d, err := Open(t.Context(), filepath.Join(t.TempDir(), "machines.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var conns []*sql.Conn
	for range maxConns {
		c, err := d.db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
	}
	for n, c := range conns {
		for pragma, want := range map[string]string{
			"journal_mode": "wal", "foreign_keys": "1", "busy_timeout": "5000", "synchronous": "1", "trusted_schema": "0",
		} {
			var got string
			if err := c.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("connection %d: %s is %s, %v; want %s", n, pragma, got, err, want)
			}
		}
	}
}

func TestTimesAreIntegers(t *testing.T) {
	d, err := Open(t.Context(), filepath.Join(t.TempDir(), "machines.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	rows, err := d.db.QueryContext(t.Context(), `SELECT t.name, c.name, c.type FROM sqlite_schema t, pragma_table_info(t.name) c
		WHERE t.type = 'table' AND c.name LIKE '%\_at' ESCAPE '\'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var table, column, kind string
		if err := rows.Scan(&table, &column, &kind); err != nil || kind != "INTEGER" {
			t.Errorf("%s.%s is kept as %s, %v", table, column, kind, err)
		}
	}
	if err := rows.Err(); err != nil || n < 10 {
		t.Errorf("%d times, %v", n, err)
	}
}
