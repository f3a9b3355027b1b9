package secrets_test

import (
	"testing"

	"github.com/berth-cloud/berth/secrets"
	"github.com/berth-cloud/berth/secrets/vaulttest"
)

func openDir(t testing.TB, path string) *secrets.Dir {
	t.Helper()
	d, err := secrets.NewDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestDirKeepsTheRowsContract(t *testing.T) {
	paths := map[secrets.Blobs]string{}
	vaulttest.RunBlobs(t,
		func(t testing.TB) secrets.Blobs {
			path := t.TempDir()
			d := openDir(t, path)
			paths[d] = path
			return d
		},
		func(t testing.TB, b secrets.Blobs) secrets.Blobs { return openDir(t, paths[b]) })
}

func TestMemoryRowsKeepTheRowsContract(t *testing.T) {
	vaulttest.RunBlobs(t, func(testing.TB) secrets.Blobs { return vaulttest.NewBlobs() }, nil)
}
