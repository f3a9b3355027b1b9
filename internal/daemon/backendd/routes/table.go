package routes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/provider"
)

// build makes one table of routes. A host that is refused gives way to the one that the
// route had before.
func build(routes []hosting.Route, refused func(host, route string) bool) table.Table {
	t := table.Table{Protocol: table.Protocol, Owner: table.OwnerBackend, Routes: []table.Route{}}
	for i := range routes {
		r := &routes[i]
		host := r.Host
		if refused(host, r.Name) {
			host = r.Instead
		}
		if host == "" || refused(host, r.Name) {
			continue
		}
		if len(t.Routes) == table.MaxRoutes {
			break // the whole table would be refused
		}
		one := table.Route{Service: r.Name, Hosts: []string{host}, Path: "/", Targets: []table.Target{}, HoldTimeout: r.Hold, DrainTimeout: r.Drain}
		for _, target := range r.Targets[:min(len(r.Targets), table.MaxTargetsPerRoute)] {
			one.Targets = append(one.Targets, table.Target{ID: target.ID, Address: target.Address.String()})
		}
		t.Routes = append(t.Routes, one)
	}
	t.Normalize()
	return t
}

// Record is the key under which the number of the last table is kept.
const Record = "routes/table"

// number gives each table its version. What it gives is stored first, so that no other
// table has it after a crash.
type number struct {
	store  provider.StateStore
	loaded bool
	last   last
	stored provider.Version
	floor  int64
}

// last is the table that was numbered last.
type last struct {
	Version int64  `json:"version"`
	Digest  string `json:"digest"` // of its routes
}

// of is the version of a table: the last one's, if it has the same routes.
func (n *number) of(ctx context.Context, t *table.Table) (int64, error) {
	if !n.loaded {
		if err := n.load(ctx); err != nil {
			return 0, err
		}
	}
	routes, err := json.Marshal(t.Routes)
	if err != nil {
		return 0, fmt.Errorf("encode the routes: %w", err)
	}
	sum := sha256.Sum256(routes)
	next := last{Version: max(n.last.Version, n.floor) + 1, Digest: hex.EncodeToString(sum[:])}
	if next.Digest == n.last.Digest && n.last.Version > n.floor {
		return n.last.Version, nil
	}
	b, err := json.Marshal(next)
	if err != nil {
		return 0, fmt.Errorf("encode the number of a table: %w", err)
	}
	stored, err := n.store.Put(ctx, Record, b, n.stored)
	if err != nil {
		n.loaded = false // it may be there
		return 0, fmt.Errorf("keep the number of a table: %w", err)
	}
	n.last, n.stored = next, stored
	return next.Version, nil
}

// beyond has the next number be above one.
func (n *number) beyond(version int64) { n.floor = max(n.floor, version, n.last.Version) }

func (n *number) load(ctx context.Context) error {
	rec, err := n.store.Get(ctx, Record)
	if errors.Is(err, provider.ErrNotFound) {
		n.last, n.stored, n.loaded = last{}, "", true
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the number of the last table: %w", err)
	}
	var l last
	if err := json.Unmarshal(rec.Value, &l); err != nil {
		return fmt.Errorf("read the number of the last table: %w", err)
	}
	n.last, n.stored, n.loaded = l, rec.Version, true
	return nil
}
