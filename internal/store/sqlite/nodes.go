package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/internal/store"
)

const nodeColumns = `id, cordoned, draining_since, drain_by, offline_since, volumes, checked_at`

func scanNode(r rowScanner) (n store.Node, err error) {
	err = r.Scan(&n.ID, &n.Cordoned, asTime(&n.DrainingSince), asTime(&n.DrainBy), asTime(&n.OfflineSince),
		asJSON(&n.Volumes), asTime(&n.CheckedAt))
	return n, err
}

// Nodes implements store.NodeStore.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	all, err := list(ctx, s, scanNode, `SELECT `+nodeColumns+` FROM nodes ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return all, nil
}

// SaveNode implements store.NodeStore.
func (s *Store) SaveNode(ctx context.Context, n store.Node) error {
	volumes, err := toJSON(n.Volumes)
	if err != nil {
		return fmt.Errorf("save node %q: %w", n.ID, err)
	}
	err = s.writer.do(ctx, func(t *tx) error {
		return t.do(`INSERT OR REPLACE INTO nodes (`+nodeColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			n.ID, n.Cordoned, stamp(n.DrainingSince), stamp(n.DrainBy), stamp(n.OfflineSince), volumes, stamp(n.CheckedAt))
	})
	if err != nil {
		return fmt.Errorf("save node %q: %w", n.ID, err)
	}
	return nil
}

// DeleteNode implements store.NodeStore.
func (s *Store) DeleteNode(ctx context.Context, id string) error {
	err := s.writer.do(ctx, func(t *tx) error { return t.do(`DELETE FROM nodes WHERE id = ?`, id) })
	if err != nil {
		return fmt.Errorf("forget node %q: %w", id, err)
	}
	return nil
}

const placementColumns = `app_id, nodes, lost, attempt_id, updated_at`

func scanPlacement(r rowScanner) (p store.Placement, err error) {
	err = r.Scan(&p.AppID, asJSON(&p.Nodes), asJSON(&p.Lost), &p.Attempt, asTime(&p.UpdatedAt))
	return p, err
}

// PlacementOf implements store.NodeStore.
func (s *Store) PlacementOf(ctx context.Context, app string) (store.Placement, error) {
	p, ok, err := one(ctx, s, scanPlacement, `SELECT `+placementColumns+` FROM placements WHERE app_id = ?`, app)
	if err != nil {
		return p, fmt.Errorf("read where app %s runs: %w", app, err)
	}
	if !ok {
		return p, fmt.Errorf("placement of app %s: %w", app, store.ErrNotFound)
	}
	return p, nil
}

// ListPlacements implements store.NodeStore.
func (s *Store) ListPlacements(ctx context.Context) ([]store.Placement, error) {
	all, err := list(ctx, s, scanPlacement, `SELECT `+placementColumns+` FROM placements ORDER BY app_id`)
	if err != nil {
		return nil, fmt.Errorf("list where apps run: %w", err)
	}
	return all, nil
}

// SavePlacement implements store.NodeStore.
func (s *Store) SavePlacement(ctx context.Context, p store.Placement) error {
	err := s.writer.do(ctx, func(t *tx) error { return t.savePlacement(p) })
	if err != nil {
		return fmt.Errorf("save where app %s runs: %w", p.AppID, err)
	}
	return nil
}

func (t *tx) savePlacement(p store.Placement) error {
	if len(p.Nodes) == 0 {
		return errors.New("a placement names a node")
	}
	_, ok, err := one(t.ctx, t, scanApp, `SELECT `+appColumns+` FROM apps WHERE name = ?`, p.AppID)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("app %s: %w", p.AppID, store.ErrNotFound)
	}
	nodes, err := toJSON(p.Nodes)
	if err != nil {
		return err
	}
	lost, err := toJSON(p.Lost)
	if err != nil {
		return err
	}
	return t.do(`INSERT OR REPLACE INTO placements (`+placementColumns+`) VALUES (?, ?, ?, ?, ?)`, p.AppID, nodes, lost, p.Attempt, stamp(p.UpdatedAt))
}
