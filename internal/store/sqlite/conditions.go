package sqlite

import (
	"context"
	"fmt"

	"github.com/berth-cloud/berth/internal/reconcile"
)

type conditionsRow struct {
	controller string
	conditions []reconcile.Condition
}

func scanConditions(r rowScanner) (row conditionsRow, err error) {
	err = r.Scan(&row.controller, asJSON(&row.conditions))
	return row, err
}

// GetConditions implements store.Store. A controller without any has none; that
// is no error.
func (s *Store) GetConditions(ctx context.Context, controllerName string) ([]reconcile.Condition, error) {
	row, _, err := one(ctx, s, scanConditions,
		`SELECT controller, conditions FROM conditions WHERE controller = ?`, controllerName)
	if err != nil {
		return nil, fmt.Errorf("read the conditions of %s: %w", controllerName, err)
	}
	return row.conditions, nil
}

// ListConditions implements store.Store.
func (s *Store) ListConditions(ctx context.Context) (map[string][]reconcile.Condition, error) {
	rows, err := list(ctx, s, scanConditions, `SELECT controller, conditions FROM conditions`)
	if err != nil {
		return nil, fmt.Errorf("list conditions: %w", err)
	}
	all := make(map[string][]reconcile.Condition, len(rows))
	for _, row := range rows {
		all[row.controller] = row.conditions
	}
	return all, nil
}

// UpsertConditions implements store.Store. The conditions are all that the
// controller has; those of another type that it had before are gone.
func (s *Store) UpsertConditions(ctx context.Context, controllerName string, conditions []reconcile.Condition) error {
	if len(conditions) == 0 {
		return s.DeleteConditions(ctx, controllerName)
	}
	kept := make([]reconcile.Condition, len(conditions))
	for i, c := range conditions {
		c.LastTransitionTime = c.LastTransitionTime.UTC()
		kept[i] = c
	}
	text, err := toJSON(kept)
	if err == nil {
		err = s.writer.do(ctx, func(t *tx) error {
			return t.do(`INSERT INTO conditions (controller, conditions) VALUES (?1, ?2)
				ON CONFLICT (controller) DO UPDATE SET conditions = ?2 WHERE conditions <> ?2`, controllerName, text)
		})
	}
	if err != nil {
		return fmt.Errorf("write the conditions of %s: %w", controllerName, err)
	}
	return nil
}

// DeleteConditions implements store.Store.
func (s *Store) DeleteConditions(ctx context.Context, controllerName string) error {
	err := s.writer.do(ctx, func(t *tx) error {
		return t.do(`DELETE FROM conditions WHERE controller = ?`, controllerName)
	})
	if err != nil {
		return fmt.Errorf("delete the conditions of %s: %w", controllerName, err)
	}
	return nil
}
