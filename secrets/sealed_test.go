package secrets_test

import (
	"path/filepath"
	"testing"

	"github.com/berth-cloud/berth/secrets"
	"github.com/berth-cloud/berth/secrets/vaulttest"
)

func openSealed(t testing.TB, b secrets.Blobs, keyFile string) *secrets.Sealed {
	t.Helper()
	s, err := secrets.OpenSealed(t.Context(), b, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSealedKeepsTheVaultContract(t *testing.T) {
	for name, rows := range map[string]func(t testing.TB) secrets.Blobs{
		"Memory": func(testing.TB) secrets.Blobs { return vaulttest.NewBlobs() },
		"Dir":    func(t testing.TB) secrets.Blobs { return openDir(t, t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			vaulttest.RunVault(t, func(t testing.TB) secrets.Vault {
				return openSealed(t, rows(t), filepath.Join(t.TempDir(), "secrets.key"))
			})
		})
	}
}
