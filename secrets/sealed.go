package secrets

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"
)

const (
	// putTries bounds how often a Put begins anew because others were faster.
	putTries = 64
	// tenantPage is how many tenants are read at once.
	tenantPage = 200
)

// Sealed is a Vault that encrypts. Values are sealed with AES-256-GCM under a
// random data key of their tenant, bound to tenant, key and version: a row that
// is moved or changed is ErrTampered. Data keys are wrapped with age to a master
// key, and only they are with Blobs; the master key is in a file.
//
// Who can write the rows can remove them or put an older data key and its values
// back, but never read, forge or move one. Lengths of values, names and times
// are not hidden.
//
// One process at a time uses the rows of one key file for writing.
type Sealed struct {
	blobs   Blobs
	keyFile string
	now     func() time.Time

	rotating chan struct{} // holds a token while Rewrap runs

	// mu is held for reading while a data key is made, so that Rewrap sees it or
	// it sees Rewrap.
	mu      sync.RWMutex
	current *master
	next    *master // while Rewrap runs: wrapped to as well
}

var _ Vault = (*Sealed)(nil)

// OpenSealed opens the vault whose rows are in blobs with the master key in
// keyFile. Where there are no rows yet, a missing key file is created; where
// there are, it is ErrKeyLost: a new key could open none of them. A key that
// none of the rows is for is ErrSealed. Nothing is changed in either case.
func OpenSealed(ctx context.Context, blobs Blobs, keyFile string, opts ...Option) (*Sealed, error) {
	s := &Sealed{blobs: blobs, keyFile: keyFile, now: newOptions(opts).now, rotating: make(chan struct{}, 1)}
	m, err := readKeyFile(keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		m, err = s.firstKey(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open the secrets: %w", err)
	}
	s.current = m
	owners, err := s.Recipients(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the secrets: %w", err)
	}
	if len(owners) > 0 && !slices.Contains(owners, m.recipient) {
		return nil, fmt.Errorf("open the secrets: %w: they are for %q and %s holds the key of %s; restore the key file that belongs to them",
			ErrSealed, owners, keyFile, m.recipient)
	}
	return s, nil
}

// firstKey makes the master key of rows that are still to come.
func (s *Sealed) firstKey(ctx context.Context) (*master, error) {
	tenants, err := s.blobs.Tenants(ctx, "", 1)
	if err != nil {
		return nil, err
	}
	if len(tenants) > 0 {
		owners, err := s.Recipients(ctx)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s; restore the file with the public key %q, without which no secret can be read",
			ErrKeyLost, s.keyFile, owners)
	}
	m, err := createKeyFile(s.keyFile)
	if errors.Is(err, fs.ErrExist) {
		return readKeyFile(s.keyFile)
	}
	return m, err
}

// Put implements Vault. A newest version that was tampered with does not keep a
// new one from being stored.
func (s *Sealed) Put(ctx context.Context, ref Ref, secret Secret) (Version, error) {
	v, err := s.put(ctx, ref, secret)
	if err != nil {
		return 0, fmt.Errorf("put secret: %w", err)
	}
	return v, nil
}

func (s *Sealed) put(ctx context.Context, ref Ref, secret Secret) (Version, error) {
	if err := cmp.Or(ctx.Err(), ref.Check(), CheckValue(secret)); err != nil {
		return 0, err
	}
	key, err := s.dataKey(ctx, ref.Tenant, true)
	if err != nil {
		return 0, err
	}
	defer clear(key)
	for range putTries {
		v, err := s.putNext(ctx, key, ref, secret)
		if !errors.Is(err, ErrConflict) {
			return v, err
		}
	}
	return 0, fmt.Errorf("%w: %s was changed by others %d times in a row", ErrConflict, ref, putTries)
}

// putNext stores the value under the next version unless it is the newest one.
// The version is read first: a value that comes in between takes it, and this
// one is then ErrConflict.
func (s *Sealed) putNext(ctx context.Context, key []byte, ref Ref, secret Secret) (Version, error) {
	next, err := s.blobs.NextVersion(ctx, ref)
	if err != nil {
		return 0, err
	}
	newest, err := s.blobs.Value(ctx, ref, 0)
	if err == nil {
		was, err := unseal(key, ref, newest.Version, newest.Sealed)
		if err == nil && was.Equal(secret) {
			return newest.Version, nil
		}
		if err != nil && !errors.Is(err, ErrTampered) {
			return 0, err
		}
	} else if !errors.Is(err, ErrNotFound) {
		return 0, err
	}
	sealed, err := seal(key, ref, next, secret.bytes())
	if err != nil {
		return 0, err
	}
	return next, s.blobs.AddValue(ctx, ref, SealedValue{Version: next, Sealed: sealed, CreatedAt: s.now().UTC()})
}

// Get implements Vault. It is ErrTampered when the row is not what was stored
// there, and ErrSealed when it is for another master key.
func (s *Sealed) Get(ctx context.Context, ref Ref, v Version) (Secret, Version, error) {
	if err := cmp.Or(ctx.Err(), ref.Check()); err != nil {
		return Secret{}, 0, fmt.Errorf("get secret: %w", err)
	}
	row, err := s.blobs.Value(ctx, ref, v)
	if err != nil {
		return Secret{}, 0, fmt.Errorf("get secret: %w", err)
	}
	key, err := s.dataKey(ctx, ref.Tenant, false)
	if err != nil {
		return Secret{}, 0, fmt.Errorf("get secret %s: %w", ref, err)
	}
	defer clear(key)
	if v != 0 && row.Version != v {
		return Secret{}, 0, fmt.Errorf("get secret: %w: %s version %d is in the place of version %d", ErrTampered, ref, row.Version, v)
	}
	secret, err := unseal(key, ref, row.Version, row.Sealed)
	if err != nil {
		return Secret{}, 0, fmt.Errorf("get secret: %w", err)
	}
	return secret, row.Version, nil
}

// List implements Vault. It needs no key.
func (s *Sealed) List(ctx context.Context, tenant string) ([]Metadata, error) {
	if err := cmp.Or(ctx.Err(), CheckTenant(tenant)); err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	all, err := s.blobs.ListValues(ctx, tenant)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	return all, nil
}

// Delete implements Vault. It needs no key.
func (s *Sealed) Delete(ctx context.Context, ref Ref) error {
	if err := cmp.Or(ctx.Err(), ref.Check()); err != nil {
		return fmt.Errorf("delete secret: %w", err)
	}
	if err := s.blobs.DeleteValues(ctx, ref); err != nil {
		return fmt.Errorf("delete secret: %w", err)
	}
	return nil
}

// dataKey returns the tenant's data key, and makes one for a tenant that has no
// secrets yet when it may.
func (s *Sealed) dataKey(ctx context.Context, tenant string, create bool) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for range putTries {
		row, err := s.blobs.DataKey(ctx, tenant)
		if err == nil {
			return unwrap(tenant, row, s.masters()...)
		}
		if !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		if key, err := s.newDataKey(ctx, tenant, create); !errors.Is(err, ErrConflict) {
			return key, err
		}
	}
	return nil, fmt.Errorf("%w: the data key of %s", ErrConflict, tenant)
}

func (s *Sealed) newDataKey(ctx context.Context, tenant string, create bool) ([]byte, error) {
	values, err := s.blobs.ListValues(ctx, tenant)
	if err != nil {
		return nil, err
	}
	if !create || len(values) > 0 {
		if _, err := s.blobs.DataKey(ctx, tenant); err == nil {
			return nil, ErrConflict // made meanwhile, with the first value
		}
		return nil, lostDataKey(tenant)
	}
	key := make([]byte, dataKeyBytes)
	_, _ = rand.Read(key) // it never fails
	row, err := wrap(tenant, key, s.masters()...)
	if err != nil {
		return nil, err
	}
	return key, s.blobs.SetDataKey(ctx, tenant, nil, row)
}

func lostDataKey(tenant string) error {
	return fmt.Errorf("%w: the data key of %s is gone, and its secrets are there; restore the row", ErrTampered, tenant)
}

// masters are those that data keys are wrapped to. mu is held.
func (s *Sealed) masters() []*master {
	if s.next != nil {
		return []*master{s.current, s.next}
	}
	return []*master{s.current}
}
