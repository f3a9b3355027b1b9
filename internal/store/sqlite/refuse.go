package sqlite

import (
	"fmt"
	"maps"
	"slices"

	"github.com/berth-cloud/berth/internal/store"
)

// presence is what is known of a service name.
type presence struct {
	app        string // "" without a desired service
	generation int64
	leaving    string // the app that is still tearing it down, or ""
}

func scanPresence(r rowScanner) (p presence, err error) {
	err = r.Scan(&p.app, &p.generation, &p.leaving)
	return p, err
}

func (t *tx) presence(name string) (presence, error) {
	p, _, err := one(t.ctx, t, scanPresence, `SELECT coalesce(s.app_id, ''), coalesce(s.generation, 0), coalesce(p.app_id, '')
		FROM (SELECT ?1 AS name) n
		LEFT JOIN services s ON s.name = n.name LEFT JOIN pending_teardowns p ON p.name = n.name`, name)
	return p, err
}

// refuse checks a change against what is there. A name that belongs to another
// app is said first, since no fresh look would help that caller.
func (t *tx) refuse(c *store.Change) error {
	for i := range c.Put {
		name := c.Put[i].Name
		p, err := t.presence(name)
		if err != nil {
			return err
		}
		for _, other := range []string{p.app, p.leaving} {
			if other != "" && other != c.AppID {
				return fmt.Errorf("%w: %s belongs to app %s; rename the service", store.ErrNameTaken, name, other)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Expect)) {
		p, err := t.presence(name)
		if err != nil {
			return err
		}
		if want := c.Expect[name]; p.generation != want {
			return fmt.Errorf("%w: %s is at generation %d, not %d (0 is absent); look again and repeat",
				store.ErrConflict, name, p.generation, want)
		}
	}
	for _, name := range c.Delete {
		p, err := t.presence(name)
		if err != nil {
			return err
		}
		if p.app != c.AppID && (p.app != "" || p.leaving != c.AppID) {
			return fmt.Errorf("%s in app %s: %w", name, c.AppID, store.ErrServiceNotFound)
		}
	}
	return nil
}
