package secrets

import (
	"context"
	"errors"

	"github.com/berth-cloud/berth/secrets"
)

// Vault is a Store of the secrets that one tenant has in a vault. A vault has no
// conditional write, so SetIfAbsent holds among the callers of one Vault: only it
// may write those secrets, which fits a vault that one process uses.
type Vault struct {
	vault  secrets.Vault
	tenant string
	turn   chan struct{} // held while something is written
}

var _ Store = (*Vault)(nil)

// NewVault returns the tenant's secrets in a vault. A tenant that is no name is
// secrets.ErrInvalidRef.
func NewVault(v secrets.Vault, tenant string) (*Vault, error) {
	if err := secrets.CheckTenant(tenant); err != nil {
		return nil, err
	}
	return &Vault{v, tenant, make(chan struct{}, 1)}, nil
}

func (v *Vault) ref(name string) secrets.Ref { return secrets.Ref{Tenant: v.tenant, Key: name} }

// Get implements Store.
func (v *Vault) Get(ctx context.Context, name string) (Secret, error) {
	if err := begin(ctx, "get", name); err != nil {
		return Secret{}, err
	}
	value, _, err := v.vault.Get(ctx, v.ref(name), 0)
	if err != nil {
		return Secret{}, failed("get", name, err)
	}
	return value, nil
}

// Set implements Store.
func (v *Vault) Set(ctx context.Context, name string, value Secret) error {
	if err := beginSet(ctx, name, value); err != nil {
		return err
	}
	return v.alone(ctx, "set", name, func() error { return v.put(ctx, name, value) })
}

// SetIfAbsent implements Store.
func (v *Vault) SetIfAbsent(ctx context.Context, name string, value Secret) error {
	if err := beginSet(ctx, name, value); err != nil {
		return err
	}
	return v.alone(ctx, "set", name, func() error {
		_, _, err := v.vault.Get(ctx, v.ref(name), 0)
		switch {
		case err == nil:
			return ErrExists
		case errors.Is(err, secrets.ErrNotFound):
			return v.put(ctx, name, value)
		}
		return err
	})
}

func (v *Vault) put(ctx context.Context, name string, value Secret) error {
	_, err := v.vault.Put(ctx, v.ref(name), value)
	return err
}

// Delete implements Store.
func (v *Vault) Delete(ctx context.Context, name string) error {
	if err := begin(ctx, "delete", name); err != nil {
		return err
	}
	return v.alone(ctx, "delete", name, func() error { return v.vault.Delete(ctx, v.ref(name)) })
}

// alone runs fn while nobody else writes.
func (v *Vault) alone(ctx context.Context, op, name string, fn func() error) error {
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return failed(op, name, ctx.Err())
	}
	if err := fn(); err != nil {
		return failed(op, name, err)
	}
	return nil
}
