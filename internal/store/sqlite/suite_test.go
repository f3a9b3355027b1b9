package sqlite_test

import (
	"testing"

	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/store/sqlite/sqlitetest"
	"github.com/berth-cloud/berth/internal/store/storetest"
)

func TestSQLiteKeepsTheStoreContract(t *testing.T) {
	storetest.RunSuite(t, func(t testing.TB, dir string) store.Store { return sqlitetest.OpenDir(t, dir) })
}
