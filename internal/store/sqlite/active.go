package sqlite

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/store"
)

const activeColumns = `service, app_id, release_id, targets, replicas, route, version, since, previous_id, held_until`

// keptTarget is a target as it is kept, apart from the names in Go.
type keptTarget struct {
	Container string         `json:"container"`
	Replica   int            `json:"replica"`
	Address   netip.AddrPort `json:"address"`
	Node      string         `json:"node,omitempty"`
}

// keptRoute is a route as it is kept.
type keptRoute struct {
	Hosts        []string      `json:"hosts"`
	Path         string        `json:"path"`
	HoldTimeout  time.Duration `json:"hold_timeout"`
	DrainTimeout time.Duration `json:"drain_timeout"`
}

func scanActive(r rowScanner) (a store.ActiveRelease, err error) {
	var targets []keptTarget
	var route keptRoute
	err = r.Scan(&a.Service, &a.AppID, &a.ReleaseID, asJSON(&targets), &a.Replicas, asJSON(&route), &a.Version,
		asTime(&a.Since), &a.PreviousID, asTime(&a.HeldUntil))
	a.Route = store.ActiveRoute(route)
	for _, t := range targets {
		a.Targets = append(a.Targets, store.ActiveTarget(t))
	}
	return a, err
}

func active(ctx context.Context, q queryer, service string) (store.ActiveRelease, bool, error) {
	return one(ctx, q, scanActive, `SELECT `+activeColumns+` FROM active_releases WHERE service = ?`, service)
}

// GetActiveRelease implements store.Store.
func (s *Store) GetActiveRelease(ctx context.Context, service string) (store.ActiveRelease, error) {
	a, ok, err := active(ctx, s, service)
	if err != nil {
		return a, fmt.Errorf("read the active release of %s: %w", service, err)
	}
	if !ok {
		return a, fmt.Errorf("active release of %s: %w", service, store.ErrNotFound)
	}
	return a, nil
}

// Routes implements store.Store, the active releases by service.
func (s *Store) Routes(ctx context.Context) (r store.RouteState, err error) {
	err = s.view(ctx, func(q queryer) error {
		if r.Version, err = routeVersion(ctx, q); err != nil {
			return err
		}
		r.Active, err = list(ctx, q, scanActive, `SELECT `+activeColumns+` FROM active_releases ORDER BY service`)
		return err
	})
	if err != nil {
		return store.RouteState{}, fmt.Errorf("read the routes: %w", err)
	}
	return r, nil
}

// SetActiveRelease implements store.Store. While the release stays the same
// Since does too, whatever a says; a zero Since of a new one is now.
func (s *Store) SetActiveRelease(ctx context.Context, a store.ActiveRelease) (out store.ActiveRelease, err error) {
	if a.Service == "" || a.ReleaseID == "" {
		return out, fmt.Errorf("an active release names its service (%q) and release (%q)", a.Service, a.ReleaseID)
	}
	if a.Since.IsZero() {
		a.Since = s.now()
	}
	err = s.writer.do(ctx, func(t *tx) error {
		out, err = t.setActive(a)
		return err
	})
	if err != nil {
		return store.ActiveRelease{}, fmt.Errorf("set the active release of %s: %w", a.Service, err)
	}
	return out, nil
}

func (t *tx) setActive(a store.ActiveRelease) (store.ActiveRelease, error) {
	old, ok, err := active(t.ctx, t, a.Service)
	if err != nil {
		return a, err
	}
	if ok && old.ReleaseID == a.ReleaseID {
		a.Since = old.Since
	}
	if !ok || !slices.Equal(old.Route.Hosts, a.Route.Hosts) || old.Route.Path != a.Route.Path {
		if err := t.divideRoutes(&a); err != nil {
			return a, err
		}
	}
	if ok && sameActive(&old, &a) {
		return old, nil
	}
	if err := t.putActive(a); err != nil {
		return a, err
	}
	a, _, err = active(t.ctx, t, a.Service)
	return a, err
}

// putActive writes a row under the next route version.
func (t *tx) putActive(a store.ActiveRelease) (err error) {
	if a.Version, err = t.takeRouteVersion(); err != nil {
		return err
	}
	kept := make([]keptTarget, len(a.Targets))
	for i, target := range a.Targets {
		kept[i] = keptTarget(target)
	}
	targets, err := toJSON(kept)
	if err != nil {
		return err
	}
	route, err := toJSON(keptRoute(a.Route))
	if err != nil {
		return err
	}
	return t.do(`INSERT OR REPLACE INTO active_releases (`+activeColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.Service, a.AppID, a.ReleaseID, targets, a.Replicas, route, a.Version, stamp(a.Since), a.PreviousID, stamp(a.HeldUntil))
}

// sameActive compares all but the version.
func sameActive(x, y *store.ActiveRelease) bool {
	return x.AppID == y.AppID && x.ReleaseID == y.ReleaseID && x.Replicas == y.Replicas && slices.Equal(x.Targets, y.Targets) &&
		sameRoute(&x.Route, &y.Route) && x.Since.Equal(y.Since) && x.PreviousID == y.PreviousID && x.HeldUntil.Equal(y.HeldUntil)
}

func sameRoute(x, y *store.ActiveRoute) bool {
	return slices.Equal(x.Hosts, y.Hosts) && x.Path == y.Path &&
		x.HoldTimeout == y.HoldTimeout && x.DrainTimeout == y.DrainTimeout
}

// DeleteActiveRelease implements store.Store. Without a row no version is
// taken: the newest one is above the one that the removal took.
func (s *Store) DeleteActiveRelease(ctx context.Context, service string) (v int64, err error) {
	err = s.writer.do(ctx, func(t *tx) error {
		n, err := t.count(`DELETE FROM active_releases WHERE service = ?`, service)
		if err != nil {
			return err
		}
		if n == 0 {
			v, err = routeVersion(t.ctx, t)
			return err
		}
		v, err = t.takeRouteVersion()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("delete the active release of %s: %w", service, err)
	}
	return v, nil
}
