package secrets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// Rewrap replaces the master key by the one in newKeyFile, which is made when it
// does not exist. Values are not touched: only data keys are wrapped anew.
//
// First every data key is wrapped to both keys, then the new key takes the place
// of the vault's key file, then every data key is wrapped to the new one alone.
// The key file opens everything at each moment, so a crash or an error on the way
// loses nothing: call Rewrap again, with the same newKeyFile. In the end
// newKeyFile is gone, it has been moved, and the old key is beside the key file
// as "<key file>.<start of its public key>.old": backups of the rows need it. A
// data key that cannot be opened stops it before the key file is replaced.
func (s *Sealed) Rewrap(ctx context.Context, newKeyFile string) error {
	select {
	case s.rotating <- struct{}{}:
		defer func() { <-s.rotating }()
	case <-ctx.Done():
		return fmt.Errorf("change the master key: %w", ctx.Err())
	}
	if sameFile(s.keyFile, newKeyFile) {
		return fmt.Errorf("change the master key: %w %s: it is the vault's own, name another for the new key", ErrKeyFile, newKeyFile)
	}
	next, err := readKeyFile(newKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		next, err = createKeyFile(newKeyFile)
	}
	if err != nil {
		return fmt.Errorf("change the master key: %w", err)
	}
	if s.masterNow().recipient != next.recipient {
		if err := s.takeOver(ctx, next); err != nil {
			return fmt.Errorf("change the master key: %w", err)
		}
	}
	if err := s.rewrapAll(ctx); err != nil {
		return fmt.Errorf("the new master key is in place, but the old one still opens data keys; change it again with %s: %w", newKeyFile, err)
	}
	if err := removeKeyFile(newKeyFile); err != nil {
		return fmt.Errorf("the master key is changed, but %s cannot be removed: %w", newKeyFile, err)
	}
	return nil
}

// sameFile reports whether both paths lead to one file that exists.
func sameFile(a, b string) bool {
	ia, erra := os.Stat(a)
	ib, errb := os.Stat(b)
	return erra == nil && errb == nil && os.SameFile(ia, ib)
}

// takeOver makes next the master key, with the old one still opening everything.
func (s *Sealed) takeOver(ctx context.Context, next *master) error {
	old := s.masterNow()
	s.setMasters(old, next)
	if err := s.rewrapAll(ctx); err != nil {
		s.setMasters(old, nil)
		return err
	}
	if _, err := installKeyFile(s.keyFile, old, next); err != nil {
		s.setMasters(old, nil)
		return err
	}
	s.setMasters(next, nil)
	return nil
}

func (s *Sealed) masterNow() *master {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.current
}

// setMasters returns once no data key is being wrapped to others.
func (s *Sealed) setMasters(current, next *master) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.next = current, next
}

// rewrapAll wraps to the masters every data key that is not for exactly them.
func (s *Sealed) rewrapAll(ctx context.Context) error {
	return s.eachTenant(ctx, func(tenant string) error {
		for range putTries {
			if err := s.rewrap(ctx, tenant); !errors.Is(err, ErrConflict) {
				return err
			}
		}
		return fmt.Errorf("%w: the data key of %s", ErrConflict, tenant)
	})
}

func (s *Sealed) rewrap(ctx context.Context, tenant string) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	row, err := s.blobs.DataKey(ctx, tenant)
	if errors.Is(err, ErrNotFound) {
		return lostDataKey(tenant)
	}
	if err != nil {
		return err
	}
	key, err := unwrap(tenant, row, s.masters()...)
	if err != nil {
		return err
	}
	defer clear(key)
	w, err := parseWrapped(tenant, row)
	if err != nil {
		return err
	}
	var want []string
	for _, m := range s.masters() {
		want = append(want, m.recipient)
	}
	slices.Sort(want)
	if slices.Equal(w.recipients(), want) {
		return nil
	}
	anew, err := wrap(tenant, key, s.masters()...)
	if err != nil {
		return err
	}
	return s.blobs.SetDataKey(ctx, tenant, row, anew)
}

// Recipients are the public halves of all master keys that data keys say they
// are wrapped to. More than one means that a Rewrap did not come to its end.
func (s *Sealed) Recipients(ctx context.Context) ([]string, error) {
	all := map[string]bool{}
	err := s.eachTenant(ctx, func(tenant string) error {
		row, err := s.blobs.DataKey(ctx, tenant)
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		w, err := parseWrapped(tenant, row)
		if errors.Is(err, ErrTampered) {
			return nil // its use says so; the others stay usable
		}
		for _, r := range w.recipients() {
			all[cut(r)] = true
		}
		return err
	})
	return slices.Sorted(maps.Keys(all)), err
}

func (s *Sealed) eachTenant(ctx context.Context, fn func(tenant string) error) error {
	after := ""
	for {
		page, err := s.blobs.Tenants(ctx, after, tenantPage)
		if err != nil {
			return err
		}
		for _, tenant := range page {
			if err := fn(tenant); err != nil {
				return err
			}
			after = tenant
		}
		if len(page) < tenantPage {
			return nil
		}
	}
}
