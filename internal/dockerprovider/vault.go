package dockerprovider

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/dockerprovider/translate"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/secrets"
)

// tenantVault reads a tenant's secrets for the planner, by the names that specs
// have for them.
type tenantVault struct {
	vault  secrets.Vault
	tenant string
}

var _ application.SecretReader = tenantVault{}

var errNoVault = errors.New("the driver was made without a vault")

// SecretVersion implements application.SecretReader: the version that the name
// says, or the newest.
func (v tenantVault) SecretVersion(ctx context.Context, name string) (int64, error) {
	if v.vault == nil {
		return 0, errNoVault
	}
	key, pinned, err := translate.Unpinned(name)
	if err != nil {
		return 0, err
	}
	_, got, err := v.vault.Get(ctx, secrets.Ref{Tenant: v.tenant, Key: key}, pinned)
	if errors.Is(err, secrets.ErrNotFound) {
		return 0, nil
	}
	return int64(got), err
}

// SecretValue implements application.SecretReader.
func (v tenantVault) SecretValue(ctx context.Context, name string, version int64) (secrets.Secret, error) {
	if v.vault == nil {
		return secrets.Secret{}, errNoVault
	}
	key, _, err := translate.Unpinned(name)
	if err != nil {
		return secrets.Secret{}, err
	}
	value, _, err := v.vault.Get(ctx, secrets.Ref{Tenant: v.tenant, Key: key}, secrets.Version(version))
	return value, err
}

// dropFiles removes the contents of a workload's own config files.
func (d *Driver) dropFiles(ctx context.Context, tenant string, workload id.ID) error {
	if d.opts.Vault == nil || tenant == "" {
		return nil
	}
	all, err := d.opts.Vault.List(ctx, tenant)
	if err != nil {
		return fmt.Errorf("list the config files of %s in the vault: %w", workload, err)
	}
	for _, m := range all {
		if !strings.HasPrefix(m.Key, translate.FilesPrefix(workload)) {
			continue
		}
		if err := d.opts.Vault.Delete(ctx, secrets.Ref{Tenant: tenant, Key: m.Key}); err != nil {
			return fmt.Errorf("remove config file %s from the vault: %w", m.Key, err)
		}
	}
	return nil
}
