package secrets_test

import (
	"testing"

	"github.com/berth-cloud/berth/secrets"
	"github.com/berth-cloud/berth/secrets/vaulttest"
)

func TestMemoryKeepsTheVaultContract(t *testing.T) {
	vaulttest.RunVault(t, func(testing.TB) secrets.Vault { return secrets.NewMemory() })
}
