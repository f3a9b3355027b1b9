package backendadmin

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/backend/server"
	"github.com/berth-cloud/berth/internal/api"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *admin) status(r *http.Request) (any, error) {
	out := wire.BackendStatus{
		Name: a.deps.Backend.Name(), Version: a.deps.Version, Healthy: true, Drain: drainOf(a.deps.Leases.Draining()),
		Notes: slices.Clone(a.deps.Notes), Leases: map[string]int{}, Capacity: a.capacity(),
	}
	if err := a.deps.Backend.Health(r.Context()); err != nil {
		out.Healthy, out.Error = false, err.Error()
	}
	if n, can := a.deps.Backend.(server.Noter); can { // after the health, which may find something
		out.Notes = append(out.Notes, n.Notes()...)
	}
	for status, n := range a.deps.Leases.CountByStatus() {
		out.Leases[string(status)] = n
	}
	return out, nil
}

func (a *admin) capacity() wire.BackendCapacity {
	s := a.deps.Capacity()
	whole := func(total, allocated, available int64) wire.BackendShare {
		return wire.BackendShare{Total: float64(total), Allocated: float64(allocated), Available: float64(available)}
	}
	return wire.BackendCapacity{
		CPUCores: wire.BackendShare{
			Total: sku.Cores(s.Total.MilliCPU), Allocated: sku.Cores(s.Allocated.MilliCPU), Available: sku.Cores(s.Available.MilliCPU),
		},
		MemoryMB:       whole(s.Total.MemoryMB, s.Allocated.MemoryMB, s.Available.MemoryMB),
		DiskMB:         whole(s.Total.DiskMB, s.Allocated.DiskMB, s.Available.DiskMB),
		RetainedDiskMB: s.RetainedDiskMB, Containers: s.ActiveContainers,
	}
}

func drainOf(d hosting.Drain) wire.BackendDrain { return wire.BackendDrain{On: d.On, Since: d.Since} }

func (a *admin) drain(*http.Request) (any, error) { return drainOf(a.deps.Leases.Draining()), nil }

func (a *admin) setDrain(r *http.Request) (any, error) {
	var req wire.BackendDrainRequest
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(&req)
	if err == nil && !errors.Is(d.Decode(&struct{}{}), io.EOF) {
		err = errors.New("something follows it")
	}
	if err != nil || req.On == nil {
		return nil, invalid("the body is not the JSON object of this request", `Write {"on": true} or {"on": false}.`)
	}
	before := a.deps.Leases.Draining()
	now, err := a.deps.Leases.Drain(r.Context(), *req.On)
	if err != nil {
		return nil, err
	}
	if now.On != before.On {
		peer, _ := api.PeerFrom(r.Context())
		a.deps.Logger.InfoContext(r.Context(), "whether leases are taken was changed", "draining", now.On, "uid", peer.UID, "pid", peer.PID)
	}
	return drainOf(now), nil
}
