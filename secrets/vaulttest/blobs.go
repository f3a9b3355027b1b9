package vaulttest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/secrets"
)

// Blobs are rows in memory. Before and After, when set, see every call by its
// method's name, in that order, and make it fail before or after its effect.
// What a test changes in Keys and Values is tampering.
type Blobs struct {
	Before, After func(call string) error

	mu     sync.Mutex
	Keys   map[string][]byte
	Values map[secrets.Ref][]secrets.SealedValue
	floors map[string]secrets.Version
}

var _ secrets.Blobs = (*Blobs)(nil)

// NewBlobs returns rows that are none yet.
func NewBlobs() *Blobs {
	return &Blobs{Keys: map[string][]byte{}, Values: map[secrets.Ref][]secrets.SealedValue{}, floors: map[string]secrets.Version{}}
}

// call runs one method.
func (b *Blobs) call(ctx context.Context, name string, check error, fn func() error) error {
	if err := cmp.Or(ctx.Err(), check); err != nil {
		return err
	}
	if b.Before != nil {
		if err := b.Before(name); err != nil {
			return err
		}
	}
	b.mu.Lock()
	err := fn()
	b.mu.Unlock()
	if err == nil && b.After != nil {
		err = b.After(name)
	}
	return err
}

// Tenants implements secrets.Blobs.
func (b *Blobs) Tenants(ctx context.Context, after string, limit int) (page []string, err error) {
	err = b.call(ctx, "Tenants", nil, func() error {
		all := slices.Collect(maps.Keys(b.Keys))
		for ref, values := range b.Values {
			if len(values) > 0 {
				all = append(all, ref.Tenant)
			}
		}
		slices.Sort(all)
		all = slices.DeleteFunc(slices.Compact(all), func(t string) bool { return t <= after })
		page = all[:min(limit, len(all))]
		return nil
	})
	return page, err
}

// DataKey implements secrets.Blobs.
func (b *Blobs) DataKey(ctx context.Context, tenant string) (row []byte, err error) {
	err = b.call(ctx, "DataKey", secrets.CheckTenant(tenant), func() error {
		key, ok := b.Keys[tenant]
		if !ok {
			return fmt.Errorf("%w: the data key of %s", secrets.ErrNotFound, tenant)
		}
		row = bytes.Clone(key)
		return nil
	})
	return row, err
}

// SetDataKey implements secrets.Blobs.
func (b *Blobs) SetDataKey(ctx context.Context, tenant string, old, wrapped []byte) error {
	return b.call(ctx, "SetDataKey", cmp.Or(secrets.CheckTenant(tenant), secrets.CheckWrapped(wrapped)), func() error {
		is, ok := b.Keys[tenant]
		if ok != (old != nil) || !bytes.Equal(is, old) {
			return fmt.Errorf("%w: the data key of %s", secrets.ErrConflict, tenant)
		}
		b.Keys[tenant] = bytes.Clone(wrapped)
		return nil
	})
}

// Value implements secrets.Blobs.
func (b *Blobs) Value(ctx context.Context, ref secrets.Ref, v secrets.Version) (value secrets.SealedValue, err error) {
	err = b.call(ctx, "Value", ref.Check(), func() error {
		values := b.Values[ref]
		i := slices.IndexFunc(values, func(s secrets.SealedValue) bool { return s.Version == v })
		if v == 0 {
			i = len(values) - 1
		}
		if i < 0 {
			return fmt.Errorf("%w: %s version %d", secrets.ErrNotFound, ref, v)
		}
		value = values[i]
		value.Sealed = bytes.Clone(value.Sealed)
		return nil
	})
	return value, err
}

// NextVersion implements secrets.Blobs.
func (b *Blobs) NextVersion(ctx context.Context, ref secrets.Ref) (next secrets.Version, err error) {
	err = b.call(ctx, "NextVersion", ref.Check(), func() error {
		next = b.next(ref)
		return nil
	})
	return next, err
}

func (b *Blobs) next(ref secrets.Ref) secrets.Version {
	if values := b.Values[ref]; len(values) > 0 {
		return values[len(values)-1].Version + 1
	}
	return b.floors[ref.Tenant] + 1
}

// AddValue implements secrets.Blobs.
func (b *Blobs) AddValue(ctx context.Context, ref secrets.Ref, v secrets.SealedValue) error {
	return b.call(ctx, "AddValue", cmp.Or(ref.Check(), secrets.CheckSealed(v.Sealed)), func() error {
		if next := b.next(ref); v.Version != next {
			return fmt.Errorf("%w: version %d of %s, the next is %d", secrets.ErrConflict, v.Version, ref, next)
		}
		v.Sealed, v.CreatedAt = bytes.Clone(v.Sealed), v.CreatedAt.UTC()
		b.Values[ref] = append(b.Values[ref], v)
		return nil
	})
}

// ListValues implements secrets.Blobs.
func (b *Blobs) ListValues(ctx context.Context, tenant string) (all []secrets.Metadata, err error) {
	err = b.call(ctx, "ListValues", secrets.CheckTenant(tenant), func() error {
		for ref, values := range b.Values {
			if ref.Tenant == tenant && len(values) > 0 {
				first, newest := values[0], values[len(values)-1]
				all = append(all, secrets.Metadata{Key: ref.Key, Version: newest.Version, CreatedAt: first.CreatedAt, UpdatedAt: newest.CreatedAt})
			}
		}
		slices.SortFunc(all, func(x, y secrets.Metadata) int { return strings.Compare(x.Key, y.Key) })
		return nil
	})
	return all, err
}

// DeleteValues implements secrets.Blobs.
func (b *Blobs) DeleteValues(ctx context.Context, ref secrets.Ref) error {
	return b.call(ctx, "DeleteValues", ref.Check(), func() error {
		if values := b.Values[ref]; len(values) > 0 {
			b.floors[ref.Tenant] = max(b.floors[ref.Tenant], values[len(values)-1].Version)
			delete(b.Values, ref)
		}
		return nil
	})
}
