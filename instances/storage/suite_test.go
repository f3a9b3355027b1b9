package storage_test

import (
	"testing"

	"github.com/berth-cloud/berth/instances/storage"
	"github.com/berth-cloud/berth/instances/storage/storagetest"
)

func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	storagetest.Conforms(t, func(testing.TB) storage.Storage { return storage.NewMemory() })
}

func TestDirectoryConforms(t *testing.T) {
	t.Parallel()
	storagetest.Conforms(t, func(t testing.TB) storage.Storage { return openDirectory(t, t.TempDir()) })
}

func TestS3Conforms(t *testing.T) {
	t.Parallel()
	storagetest.Conforms(t, func(t testing.TB) storage.Storage { return newBucket(t).open(t) })
}

func TestScopedConforms(t *testing.T) {
	t.Parallel()
	storagetest.Conforms(t, func(t testing.TB) storage.Storage {
		inner := storage.NewMemory()
		if _, err := inner.Put(t.Context(), "shard/other/k", []byte("not to be seen")); err != nil {
			t.Fatal(err)
		}
		if _, err := inner.Put(t.Context(), "shard/a-b", []byte("not to be seen")); err != nil {
			t.Fatal(err)
		}
		return storage.Scoped(inner, "shard/a/")
	})
}

func TestAStorageWithoutFaultsConforms(t *testing.T) {
	t.Parallel()
	storagetest.Conforms(t, func(testing.TB) storage.Storage { return storagetest.NewFaulty(storage.NewMemory()) })
}

func openDirectory(t testing.TB, dir string) *storage.Directory {
	t.Helper()
	d, err := storage.OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}
