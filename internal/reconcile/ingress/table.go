package ingress

import (
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/store"
)

// Facts identify the machine and engine that a table's addresses belong to.
type Facts struct{ BootID, EngineStart string }

// Build is the table that a state of the store asks for.
func Build(s store.RouteState, f Facts) table.Table {
	t := table.Table{
		Protocol: table.Protocol, Owner: table.OwnerServer, Version: s.Version,
		BootID: f.BootID, EngineStart: f.EngineStart, Routes: []table.Route{},
	}
	for i := range s.Active {
		a := &s.Active[i]
		if len(a.Route.Hosts) == 0 {
			continue
		}
		r := table.Route{
			Service: a.Service, Hosts: a.Route.Hosts, Path: a.Route.Path, Targets: []table.Target{},
			HoldTimeout: a.Route.HoldTimeout, DrainTimeout: a.Route.DrainTimeout,
		}
		for _, t := range a.Targets {
			if t.Address.IsValid() {
				r.Targets = append(r.Targets, table.Target{ID: t.Container, Address: t.Address.String(), Node: t.Node})
			}
		}
		t.Routes = append(t.Routes, r)
	}
	slices.SortFunc(t.Routes, func(a, b table.Route) int { return strings.Compare(a.Service, b.Service) })
	return t
}
