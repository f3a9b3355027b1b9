package workloads_test

import (
	"testing"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/secrets"
)

// put gives a secret of the tenant a value.
func put(t *testing.T, r *rig, key, value string) {
	t.Helper()
	ref, err := secrets.NewRef(api.Tenant, key)
	if err == nil {
		_, err = r.Vault.Put(r.ctx, ref, secrets.NewSecretString(value))
	}
	if err != nil {
		t.Fatal(err)
	}
}
