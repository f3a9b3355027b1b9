package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/secrets"
)

// keyFile holds the master key of the secrets.
func (c *Config) keyFile() string { return filepath.Join(c.DataDir, "secrets.key") }

// vault is the vault of this Berth, opened by whoever needs it first: without
// secrets there is no key, and a key that is lost keeps nothing else from
// running. After a failure the next one tries again, so that a key file that was
// brought back needs no restart.
type vault struct {
	blobs secrets.Blobs
	file  string

	mu   sync.Mutex
	open *secrets.Sealed
}

var _ secrets.Vault = (*vault)(nil)

func (v *vault) sealed(ctx context.Context) (*secrets.Sealed, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.open != nil {
		return v.open, nil
	}
	s, err := secrets.OpenSealed(ctx, v.blobs, v.file)
	if err != nil {
		return nil, err
	}
	v.open = s
	return s, nil
}

// Put implements secrets.Vault.
func (v *vault) Put(ctx context.Context, ref secrets.Ref, s secrets.Secret) (secrets.Version, error) {
	sealed, err := v.sealed(ctx)
	if err != nil {
		return 0, err
	}
	return sealed.Put(ctx, ref, s)
}

// Get implements secrets.Vault.
func (v *vault) Get(ctx context.Context, ref secrets.Ref, version secrets.Version) (secrets.Secret, secrets.Version, error) {
	if empty, err := v.empty(ctx); err != nil || empty {
		return secrets.Secret{}, 0, notKept(ref, err)
	}
	sealed, err := v.sealed(ctx)
	if err != nil {
		return secrets.Secret{}, 0, err
	}
	return sealed.Get(ctx, ref, version)
}

// List implements secrets.Vault. It needs no key.
func (v *vault) List(ctx context.Context, tenant string) ([]secrets.Metadata, error) {
	if err := secrets.CheckTenant(tenant); err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	all, err := v.blobs.ListValues(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	return all, nil
}

// Delete implements secrets.Vault. It needs no key.
func (v *vault) Delete(ctx context.Context, ref secrets.Ref) error {
	if err := ref.Check(); err != nil {
		return fmt.Errorf("delete secret: %w", err)
	}
	if err := v.blobs.DeleteValues(ctx, ref); err != nil {
		return fmt.Errorf("delete secret: %w", err)
	}
	return nil
}

// empty reports whether there is no secret yet, and so need be no key.
func (v *vault) empty(ctx context.Context) (bool, error) {
	tenants, err := v.blobs.Tenants(ctx, "", 1)
	return len(tenants) == 0, err
}

// appSecrets reads the values of apps for the containers that need them.
type appSecrets struct{ vault *vault }

var _ application.SecretReader = appSecrets{}

// SecretVersion implements application.SecretReader. It needs no key.
func (a appSecrets) SecretVersion(ctx context.Context, key string) (int64, error) {
	ref, err := secrets.NewRef(api.Tenant, key)
	if err != nil {
		return 0, err
	}
	newest, err := a.vault.blobs.Value(ctx, ref, 0)
	if errors.Is(err, secrets.ErrNotFound) {
		return 0, nil
	}
	return int64(newest.Version), err
}

// SecretValue implements application.SecretReader.
func (a appSecrets) SecretValue(ctx context.Context, key string, version int64) (secrets.Secret, error) {
	ref, err := secrets.NewRef(api.Tenant, key)
	if err != nil {
		return secrets.Secret{}, err
	}
	value, _, err := a.vault.Get(ctx, ref, secrets.Version(version))
	return value, err
}

func notKept(ref secrets.Ref, err error) error {
	if err == nil {
		err = ref.Check()
	}
	if err == nil {
		err = fmt.Errorf("%w: %s", secrets.ErrNotFound, ref)
	}
	return fmt.Errorf("get secret: %w", err)
}

// check looks whether the secrets can be read.
func (v *vault) check(ctx context.Context) []wire.Check {
	c := wire.Check{Name: "secrets", State: wire.CheckOK, Message: "none are kept yet"}
	empty, err := v.empty(ctx)
	_, statErr := os.Lstat(v.file)
	switch {
	case err != nil:
		return nil // the check of the store speaks of it
	case empty && errors.Is(statErr, fs.ErrNotExist):
		return []wire.Check{c}
	}
	// By a look of its own: what the daemon has open may no longer be what the
	// next start would find.
	if _, err := secrets.OpenSealed(ctx, v.blobs, v.file); err != nil {
		c.State, c.Message = wire.CheckFailed, err.Error()
		c.Fix = v.advice(err)
		return []wire.Check{c}
	}
	c.Message = fmt.Sprintf("the key in %s opens them; keep a copy of it where the data directory is not", v.file)
	return []wire.Check{c}
}

func (v *vault) advice(err error) string {
	switch {
	case errors.Is(err, secrets.ErrKeyLost):
		return fmt.Sprintf("bring %s back from a copy; without it no secret can be read, and each has to be set again on a new data directory", v.file)
	case errors.Is(err, secrets.ErrSealed):
		return fmt.Sprintf("bring back the %s that belongs to this data directory", v.file)
	case errors.Is(err, secrets.ErrKeyFile):
		return fmt.Sprintf("make %s a file of the daemon's own user with mode 0600, with the key it had", v.file)
	}
	return "look at the disk of " + filepath.Dir(v.file)
}
