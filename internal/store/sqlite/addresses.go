package sqlite

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/berth-cloud/berth/internal/store"
)

// firstPosition is the offset in a subnet of the first address that is given:
// 0 is the network's, 1 the gateway's.
const firstPosition = 2

func scanAddress(r rowScanner) (a store.Address, err error) {
	var ip string
	if err := r.Scan(&a.AppID, &ip, &a.Container, asTime(&a.FreedAt), &a.FreedVersion); err != nil {
		return a, err
	}
	a.IP, err = netip.ParseAddr(ip)
	return a, err
}

// ListAddresses implements store.Store, in the subnet's order.
func (s *Store) ListAddresses(ctx context.Context, app string) ([]store.Address, error) {
	all, err := list(ctx, s, scanAddress, `SELECT app_id, ip, container, freed_at, freed_version
		FROM addresses WHERE app_id = ? ORDER BY position`, app)
	if err != nil {
		return nil, fmt.Errorf("list the addresses of app %s: %w", app, err)
	}
	return all, nil
}

// TakeAddress implements store.Store. An app without a subnet is
// store.ErrNotFound.
func (s *Store) TakeAddress(ctx context.Context, q store.AddressRequest) (ip netip.Addr, err error) {
	if q.Container == "" {
		return ip, fmt.Errorf("an address in app %s is for a named container", q.AppID)
	}
	if q.Now.IsZero() {
		q.Now = s.now()
	}
	err = s.writer.do(ctx, func(t *tx) error {
		ip, err = t.takeAddress(&q)
		return err
	})
	if err != nil {
		return netip.Addr{}, fmt.Errorf("take an address for %s: %w", q.Container, err)
	}
	return ip, nil
}

func (t *tx) takeAddress(q *store.AddressRequest) (ip netip.Addr, err error) {
	text, held, err := one(t.ctx, t, scanAs[string],
		`SELECT ip FROM addresses WHERE app_id = ? AND container = ? AND freed_at IS NULL`, q.AppID, q.Container)
	if err != nil {
		return ip, err
	}
	if held {
		return netip.ParseAddr(text)
	}
	if ip, err = t.freshAddress(q); err != nil || ip.IsValid() {
		return ip, err
	}
	// The longest freed comes first, and so what has rested before what only
	// the data plane's acknowledgement makes safe.
	text, ok, err := one(t.ctx, t, scanAs[string], `UPDATE addresses SET container = ?2, freed_at = NULL, freed_version = 0
		WHERE app_id = ?1 AND position = (SELECT position FROM addresses
			WHERE app_id = ?1 AND freed_at IS NOT NULL AND (freed_at <= ?3 OR freed_version <= ?4)
			ORDER BY freed_at, position LIMIT 1)
		RETURNING ip`, q.AppID, q.Container, stamp(q.Now.Add(-q.Rest)), q.Acked)
	if err != nil {
		return ip, err
	}
	if !ok {
		return ip, fmt.Errorf("app %s: %w", q.AppID, store.ErrSubnetFull)
	}
	return netip.ParseAddr(text)
}

type subnetRow struct {
	prefix netip.Prefix
	next   int64
}

func scanSubnetRow(r rowScanner) (n subnetRow, err error) {
	var prefix string
	if err := r.Scan(&prefix, &n.next); err != nil {
		return n, err
	}
	n.prefix, err = netip.ParsePrefix(prefix)
	return n, err
}

// freshAddress gives an address that was never given, or an invalid one when
// none is left.
func (t *tx) freshAddress(q *store.AddressRequest) (ip netip.Addr, err error) {
	n, ok, err := one(t.ctx, t, scanSubnetRow, `SELECT prefix, next FROM subnets WHERE app_id = ?`, q.AppID)
	if err != nil {
		return ip, err
	}
	if !ok {
		return ip, fmt.Errorf("subnet of app %s: %w", q.AppID, store.ErrNotFound)
	}
	if n.next > lastPosition(n.prefix) {
		return ip, nil
	}
	ip = addressAt(n.prefix, n.next)
	if err := t.do(`UPDATE subnets SET next = next + 1 WHERE app_id = ?`, q.AppID); err != nil {
		return ip, err
	}
	return ip, t.do(`INSERT INTO addresses (app_id, position, ip, container, freed_version) VALUES (?, ?, ?, ?, 0)`,
		q.AppID, n.next, ip.String(), q.Container)
}

// lastPosition is the offset of the last address that is given, the one before
// the broadcast address; of a huge subnet only the first 2^32 are used.
func lastPosition(p netip.Prefix) int64 {
	return int64(1)<<min(p.Addr().BitLen()-p.Bits(), 32) - 2
}

// addressAt is the address at an offset below 2^32 of a masked prefix.
func addressAt(p netip.Prefix, offset int64) netip.Addr {
	b := p.Addr().AsSlice()
	for i := len(b) - 1; offset > 0; i-- {
		offset += int64(b[i])
		b[i] = byte(offset)
		offset >>= 8
	}
	ip, _ := netip.AddrFromSlice(b)
	return ip
}

// FreeAddress implements store.Store. The present route version is the one at
// which no table names the address any more, since routes go before containers.
func (s *Store) FreeAddress(ctx context.Context, app, container string, now time.Time) error {
	if now.IsZero() {
		now = s.now()
	}
	err := s.writer.do(ctx, func(t *tx) error {
		return t.do(`UPDATE addresses SET freed_at = ?,
				freed_version = (SELECT value FROM counters WHERE name = 'route_version')
			WHERE app_id = ? AND container = ? AND freed_at IS NULL`, stamp(now), app, container)
	})
	if err != nil {
		return fmt.Errorf("free the address of %s: %w", container, err)
	}
	return nil
}
