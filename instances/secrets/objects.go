package secrets

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/instances/storage"
)

// Objects is a Store whose secrets are objects, each sealed with AES-256-GCM and
// bound to its name. Who can write the objects can remove one or put an older one
// back, but never read, make or move one. Names and lengths are not hidden.
type Objects struct {
	storage storage.Storage
	keys    Keys
}

var _ Store = (*Objects)(nil)

// rewrapTries bounds how often Rewrap begins one secret anew because somebody
// sets it.
const rewrapTries = 8

// NewObjects returns the secrets in a Storage that holds nothing else, as a
// storage.Scoped does. Keys without a primary one are ErrInvalidKey.
func NewObjects(s storage.Storage, keys Keys) (*Objects, error) {
	if keys.Primary.aead == nil {
		return nil, fmt.Errorf("%w: there is no primary key", ErrInvalidKey)
	}
	for i, k := range keys.Old {
		if k.aead == nil {
			return nil, fmt.Errorf("%w: old key %d is none", ErrInvalidKey, i+1)
		}
	}
	return &Objects{s, Keys{keys.Primary, append([]Key(nil), keys.Old...)}}, nil
}

// Get implements Store. A secret that is sealed with a key that was not given is
// ErrWrongKey, one that was changed or moved ErrTampered.
func (o *Objects) Get(ctx context.Context, name string) (Secret, error) {
	if err := begin(ctx, "get", name); err != nil {
		return Secret{}, err
	}
	value, _, _, err := o.read(ctx, name)
	if err != nil {
		return Secret{}, failed("get", name, err)
	}
	return value, nil
}

func (o *Objects) read(ctx context.Context, name string) (Secret, Key, string, error) {
	blob, tag, err := o.storage.Get(ctx, name)
	if errors.Is(err, storage.ErrNotFound) {
		return Secret{}, Key{}, "", ErrNotFound
	}
	if err != nil {
		return Secret{}, Key{}, "", err
	}
	value, key, err := unseal(o.keys, name, blob)
	return value, key, tag, err
}

// Set implements Store.
func (o *Objects) Set(ctx context.Context, name string, value Secret) error {
	if err := beginSet(ctx, name, value); err != nil {
		return err
	}
	if _, err := o.storage.Put(ctx, name, seal(o.keys.Primary, name, value)); err != nil {
		return failed("set", name, err)
	}
	return nil
}

// SetIfAbsent implements Store, among all processes.
func (o *Objects) SetIfAbsent(ctx context.Context, name string, value Secret) error {
	if err := beginSet(ctx, name, value); err != nil {
		return err
	}
	_, err := o.storage.PutIfMatch(ctx, name, seal(o.keys.Primary, name, value), "")
	if errors.Is(err, storage.ErrPrecondition) {
		return failed("set", name, ErrExists)
	}
	if err != nil {
		return failed("set", name, err)
	}
	return nil
}

// Delete implements Store.
func (o *Objects) Delete(ctx context.Context, name string) error {
	if err := begin(ctx, "delete", name); err != nil {
		return err
	}
	if err := o.storage.Delete(ctx, name); err != nil {
		return failed("delete", name, err)
	}
	return nil
}

// Rewrap seals with the primary key every secret that is sealed with an old one,
// and returns how many it did. A secret that it cannot open or write is in the
// error, and keeps the others from nothing. After a Rewrap without an error, made
// once nobody seals with an old key any more, the old keys can be forgotten.
func (o *Objects) Rewrap(ctx context.Context) (int, error) {
	all, err := o.storage.List(ctx, "")
	if err != nil {
		return 0, fmt.Errorf("seal secrets anew: %w", err)
	}
	done := 0
	var errs []error
	for _, m := range all {
		if CheckName(m.Key) != nil {
			continue // no Store wrote it
		}
		did, err := o.rewrap(ctx, m.Key)
		if err != nil {
			errs = append(errs, failed("seal anew", m.Key, err))
		}
		if did {
			done++
		}
		if ctx.Err() != nil {
			break
		}
	}
	return done, errors.Join(errs...)
}

func (o *Objects) rewrap(ctx context.Context, name string) (bool, error) {
	for range rewrapTries {
		value, key, tag, err := o.read(ctx, name)
		if errors.Is(err, ErrNotFound) {
			return false, nil // deleted since
		}
		if err != nil {
			return false, err
		}
		if key.id == o.keys.Primary.id {
			return false, nil
		}
		_, err = o.storage.PutIfMatch(ctx, name, seal(o.keys.Primary, name, value), tag)
		if !errors.Is(err, storage.ErrPrecondition) {
			return err == nil, err
		}
	}
	return false, fmt.Errorf("%w: %d times in a row", storage.ErrPrecondition, rewrapTries)
}
