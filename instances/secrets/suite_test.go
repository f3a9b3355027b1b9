package secrets_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/secrets/secretstest"
	"github.com/berth-cloud/berth/instances/storage"
	values "github.com/berth-cloud/berth/secrets"
	"github.com/berth-cloud/berth/secrets/vaulttest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemoryConforms(t *testing.T) {
	secretstest.Conforms(t, func(testing.TB) secrets.Store { return secrets.NewMemory() })
}

func TestObjectsConform(t *testing.T) {
	secretstest.Conforms(t, func(t testing.TB) secrets.Store {
		return objects(t, storage.NewMemory(), newKey(t))
	})
}

func TestAVaultConforms(t *testing.T) {
	secretstest.Conforms(t, func(t testing.TB) secrets.Store {
		return openVault(t, values.NewMemory())
	})
}

func TestASealedVaultConforms(t *testing.T) {
	secretstest.Conforms(t, func(t testing.TB) secrets.Store {
		v, err := values.OpenSealed(t.Context(), vaulttest.NewBlobs(), filepath.Join(t.TempDir(), "master.key"))
		if err != nil {
			t.Fatal(err)
		}
		return openVault(t, v)
	})
}

func openVault(t testing.TB, v values.Vault) *secrets.Vault {
	t.Helper()
	s, err := secrets.NewVault(v, "cluster")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newKey(t testing.TB) secrets.Key {
	t.Helper()
	k, err := secrets.NewKey(secrets.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func objects(t testing.TB, s storage.Storage, primary secrets.Key, old ...secrets.Key) *secrets.Objects {
	t.Helper()
	o, err := secrets.NewObjects(s, secrets.Keys{Primary: primary, Old: old})
	if err != nil {
		t.Fatal(err)
	}
	return o
}
