package secrets

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Dir keeps the rows of Sealed in a directory, for users without a database:
//
//	t-<hash of the tenant>/tenant.json               name, data key, highest deleted version
//	t-<hash of the tenant>/k-<hash of the key>/N.json  version N, sealed
//
// Each file is written whole or not at all. Several processes may use one
// directory: what writes holds a lock on the file "lock".
type Dir struct {
	root *os.Root
	turn chan struct{} // held by whoever writes in this process
}

var _ Blobs = (*Dir)(nil)

// NewDir opens the directory, which is created with mode 0700 when missing.
// Close frees it.
func NewDir(dir string) (*Dir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the directory of secrets: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the directory of secrets: %w", err)
	}
	return &Dir{root: root, turn: make(chan struct{}, 1)}, nil
}

// Close frees the directory. Calls after it fail.
func (d *Dir) Close() error { return d.root.Close() }

// Tenants implements Blobs.
func (d *Dir) Tenants(ctx context.Context, after string, limit int) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	names, err := d.names(".", "t-")
	if err != nil {
		return nil, fmt.Errorf("list the tenants of secrets: %w", err)
	}
	var all []string
	for _, name := range names {
		t, err := d.readTenantAt(name)
		if err != nil {
			return nil, err
		}
		used, err := d.used(name, t)
		if err != nil {
			return nil, err
		}
		if t.Tenant > after && used {
			all = append(all, t.Tenant)
		}
	}
	slices.Sort(all)
	return all[:min(len(all), max(limit, 1))], nil
}

// used reports whether a tenant has a data key or a value.
func (d *Dir) used(name string, t tenantFile) (bool, error) {
	if t.Tenant == "" || len(t.DataKey) > 0 {
		return t.Tenant != "", nil
	}
	keys, err := d.names(name, "k-")
	return len(keys) > 0, err
}

// DataKey implements Blobs.
func (d *Dir) DataKey(ctx context.Context, tenant string) ([]byte, error) {
	if err := cmp.Or(ctx.Err(), CheckTenant(tenant)); err != nil {
		return nil, err
	}
	t, err := d.readTenant(tenant)
	if err != nil {
		return nil, err
	}
	if len(t.DataKey) == 0 {
		return nil, fmt.Errorf("%w: the data key of %s", ErrNotFound, tenant)
	}
	return t.DataKey, nil
}

// SetDataKey implements Blobs.
func (d *Dir) SetDataKey(ctx context.Context, tenant string, old, wrapped []byte) error {
	if err := cmp.Or(CheckTenant(tenant), CheckWrapped(wrapped)); err != nil {
		return err
	}
	return d.write(ctx, func() error {
		t, err := d.readTenant(tenant)
		if err != nil {
			return err
		}
		if string(t.DataKey) != string(old) {
			return fmt.Errorf("%w: the data key of %s", ErrConflict, tenant)
		}
		t.DataKey = wrapped
		return d.writeTenant(t)
	})
}

// Value implements Blobs.
func (d *Dir) Value(ctx context.Context, ref Ref, v Version) (SealedValue, error) {
	if err := cmp.Or(ctx.Err(), ref.Check()); err != nil {
		return SealedValue{}, err
	}
	if v == 0 {
		versions, err := d.versions(keyDir(ref))
		if err != nil {
			return SealedValue{}, err
		}
		if len(versions) == 0 {
			return SealedValue{}, notFound(ref, 0)
		}
		v = versions[len(versions)-1]
	}
	f, err := d.readValue(keyDir(ref), v)
	if errors.Is(err, fs.ErrNotExist) {
		return SealedValue{}, notFound(ref, v)
	}
	if err != nil {
		return SealedValue{}, err
	}
	if f.Tenant != ref.Tenant || f.Key != ref.Key {
		return SealedValue{}, fmt.Errorf("%w: the file of %s version %d is another's", ErrTampered, ref, v)
	}
	return SealedValue{v, f.Sealed, f.CreatedAt}, nil
}

// NextVersion implements Blobs.
func (d *Dir) NextVersion(ctx context.Context, ref Ref) (Version, error) {
	if err := cmp.Or(ctx.Err(), ref.Check()); err != nil {
		return 0, err
	}
	return d.next(ref)
}

func (d *Dir) next(ref Ref) (Version, error) {
	versions, err := d.versions(keyDir(ref))
	if err != nil {
		return 0, err
	}
	if n := len(versions); n > 0 {
		return versions[n-1] + 1, nil
	}
	t, err := d.readTenant(ref.Tenant)
	return t.Floor + 1, err
}

// AddValue implements Blobs.
func (d *Dir) AddValue(ctx context.Context, ref Ref, v SealedValue) error {
	if err := cmp.Or(ref.Check(), CheckSealed(v.Sealed)); err != nil {
		return err
	}
	return d.write(ctx, func() error {
		next, err := d.next(ref)
		if err != nil {
			return err
		}
		if v.Version != next {
			return fmt.Errorf("%w: version %d of %s was to be stored, the next is %d", ErrConflict, v.Version, ref, next)
		}
		if err := d.nameTenant(ref.Tenant); err != nil {
			return err
		}
		return d.writeValue(keyDir(ref), valueFile{ref.Tenant, ref.Key, v.Version, v.CreatedAt.UTC(), v.Sealed})
	})
}

// nameTenant writes the file that says whose directory it is, if it is not there.
func (d *Dir) nameTenant(tenant string) error {
	t, err := d.readTenantAt(tenantDir(tenant))
	if err != nil || t.Tenant != "" {
		return err
	}
	return d.writeTenant(tenantFile{Tenant: tenant})
}

// ListValues implements Blobs.
func (d *Dir) ListValues(ctx context.Context, tenant string) ([]Metadata, error) {
	if err := cmp.Or(ctx.Err(), CheckTenant(tenant)); err != nil {
		return nil, err
	}
	names, err := d.names(tenantDir(tenant), "k-")
	if err != nil {
		return nil, fmt.Errorf("list the secrets of %s: %w", tenant, err)
	}
	var all []Metadata
	for _, name := range names {
		m, err := d.describe(tenantDir(tenant) + "/" + name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("list the secrets of %s: %w", tenant, err)
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Metadata) int { return strings.Compare(a.Key, b.Key) })
	return all, nil
}

func (d *Dir) describe(dir string) (Metadata, error) {
	versions, err := d.versions(dir)
	if err != nil {
		return Metadata{}, err
	}
	if len(versions) == 0 {
		return Metadata{}, fs.ErrNotExist
	}
	newest := versions[len(versions)-1]
	first, err := d.readValue(dir, versions[0])
	if err != nil {
		return Metadata{}, err
	}
	last, err := d.readValue(dir, newest)
	if err != nil {
		return Metadata{}, err
	}
	return Metadata{last.Key, newest, first.CreatedAt, last.CreatedAt}, nil
}

// DeleteValues implements Blobs. The versions are taken out of use first, and
// leave with one rename: a crash deletes all or none.
func (d *Dir) DeleteValues(ctx context.Context, ref Ref) error {
	if err := ref.Check(); err != nil {
		return err
	}
	return d.write(ctx, func() error {
		versions, err := d.versions(keyDir(ref))
		if err != nil || len(versions) == 0 {
			return err
		}
		t, err := d.readTenant(ref.Tenant)
		if err != nil {
			return err
		}
		t.Floor = max(t.Floor, versions[len(versions)-1])
		if err := d.writeTenant(t); err != nil {
			return err
		}
		return d.discard(keyDir(ref))
	})
}

func tenantDir(tenant string) string { return "t-" + hashName(tenant) }

func keyDir(ref Ref) string { return tenantDir(ref.Tenant) + "/k-" + hashName(ref.Key) }

// hashName is a file name that says nothing and is one on every file system.
func hashName(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// tenantFile is tenant.json.
type tenantFile struct {
	Tenant  string  `json:"tenant"`
	Floor   Version `json:"floor,omitempty"`
	DataKey []byte  `json:"data_key,omitempty"`
}

// valueFile is the file of a version.
type valueFile struct {
	Tenant    string    `json:"tenant"`
	Key       string    `json:"key"`
	Version   Version   `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	Sealed    []byte    `json:"sealed"`
}
