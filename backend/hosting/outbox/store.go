package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/provider"
)

// maxTurns bounds how often a change is made anew because another came before it.
const maxTurns = 16

// get is the record of a lease with its version, which is empty where there is none.
func (o *Outbox) get(ctx context.Context, lease string) (*record, provider.Version, error) {
	got, err := o.cfg.Store.Get(ctx, o.key(lease))
	if errors.Is(err, provider.ErrNotFound) {
		return &record{Version: recordVersion}, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	r, err := decode(got.Value)
	return r, got.Version, err
}

// change applies fn to the record of a lease and writes it, if fn says so. Where
// another write came before, fn gets what that left, so it must do nothing but to
// change the record and to say what it did. An error of fn is returned as it is.
//
// When an error of the store comes back, the change may be there all the same.
func (o *Outbox) change(ctx context.Context, lease string, fn func(*record) (changed bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	for range maxTurns {
		r, version, err := o.get(ctx, lease)
		if err != nil {
			return fmt.Errorf("callbacks of lease %s: %w", lease, err)
		}
		if changed, err := fn(r); err != nil || !changed {
			return err
		}
		err = o.put(ctx, lease, r, version)
		if err == nil || !errors.Is(err, provider.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("callbacks of lease %s: %w: %d writes of others came before", lease, provider.ErrConflict, maxTurns)
}

// put writes a record where its present version is prior.
func (o *Outbox) put(ctx context.Context, lease string, r *record, prior provider.Version) error {
	value, err := json.Marshal(r)
	if err == nil {
		_, err = o.cfg.Store.Put(ctx, o.key(lease), value, prior)
	}
	if err != nil {
		return fmt.Errorf("callbacks of lease %s: %w", lease, err)
	}
	return nil
}

func (o *Outbox) key(lease string) string { return o.cfg.Prefix + "/" + lease }

// leases are those that have a record.
func (o *Outbox) leases(ctx context.Context) ([]string, error) {
	keys, err := o.cfg.Store.List(ctx, o.cfg.Prefix+"/")
	if err != nil {
		return nil, fmt.Errorf("list callbacks: %w", err)
	}
	for i, key := range keys {
		keys[i] = strings.TrimPrefix(key, o.cfg.Prefix+"/")
	}
	return keys, nil
}
