package sqlite

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/berth-cloud/berth/internal/store"
)

func scanSubnet(r rowScanner) (n store.Subnet, err error) {
	var prefix string
	if err := r.Scan(&n.AppID, &prefix); err != nil {
		return n, err
	}
	n.Prefix, err = netip.ParsePrefix(prefix)
	return n, err
}

// SubnetOf implements store.Store.
func (s *Store) SubnetOf(ctx context.Context, app string) (store.Subnet, error) {
	n, ok, err := one(ctx, s, scanSubnet, `SELECT app_id, prefix FROM subnets WHERE app_id = ?`, app)
	if err != nil {
		return n, fmt.Errorf("read the subnet of app %s: %w", app, err)
	}
	if !ok {
		return n, fmt.Errorf("subnet of app %s: %w", app, store.ErrNotFound)
	}
	return n, nil
}

// ListSubnets implements store.Store, by app.
func (s *Store) ListSubnets(ctx context.Context) ([]store.Subnet, error) {
	all, err := subnets(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("list subnets: %w", err)
	}
	return all, nil
}

func subnets(ctx context.Context, q queryer) ([]store.Subnet, error) {
	return list(ctx, q, scanSubnet, `SELECT app_id, prefix FROM subnets ORDER BY app_id`)
}

// SaveSubnet implements store.Store. A subnet that overlaps the one of another
// app is store.ErrConflict: two callers chose it at once. Another prefix for
// the same app forgets the addresses of the old one.
func (s *Store) SaveSubnet(ctx context.Context, n store.Subnet) error {
	if n.AppID == "" || !n.Prefix.IsValid() {
		return fmt.Errorf("a subnet names its app (%q) and prefix (%s)", n.AppID, n.Prefix)
	}
	n.Prefix = n.Prefix.Masked()
	err := s.writer.do(ctx, func(t *tx) error { return t.saveSubnet(n) })
	if err != nil {
		return fmt.Errorf("save the subnet of app %s: %w", n.AppID, err)
	}
	return nil
}

func (t *tx) saveSubnet(n store.Subnet) error {
	all, err := subnets(t.ctx, t)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other == n {
			return nil
		}
		if other.AppID != n.AppID && other.Prefix.Overlaps(n.Prefix) {
			return fmt.Errorf("%w: %s overlaps %s of app %s", store.ErrConflict, n.Prefix, other.Prefix, other.AppID)
		}
	}
	if err := t.do(`DELETE FROM subnets WHERE app_id = ?`, n.AppID); err != nil {
		return err
	}
	return t.do(`INSERT INTO subnets (app_id, prefix, next) VALUES (?, ?, ?)`, n.AppID, n.Prefix.String(), firstPosition)
}

// DropSubnet implements store.Store.
func (s *Store) DropSubnet(ctx context.Context, app string) error {
	err := s.writer.do(ctx, func(t *tx) error {
		return t.do(`DELETE FROM subnets WHERE app_id = ?`, app) // its addresses go with it
	})
	if err != nil {
		return fmt.Errorf("drop the subnet of app %s: %w", app, err)
	}
	return nil
}
