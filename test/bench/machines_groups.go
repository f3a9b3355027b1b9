package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/config"
	machinegroup "github.com/berth-cloud/berth/instances/group"
	"github.com/berth-cloud/berth/instances/localdb"
	"github.com/berth-cloud/berth/internal/reconcile"
)

const (
	restGroups   = 1000
	restMachines = 3 // of each group
	restPasses   = 20
)

// atRest is what groups that need nothing may ask; anything else is an error.
type atRest struct{}

var errAtRest = errors.New("a group at rest does something")

func (atRest) CreateInstance(context.Context, instances.CreateInstanceRequest) (*instances.CreateInstanceResponse, error) {
	return nil, errAtRest
}

func (atRest) DeleteInstanceFor(context.Context, string, string) error { return errAtRest }

func (atRest) GetInstanceStatusFor(context.Context, string, string) (*instances.InstanceStatus, error) {
	return nil, errAtRest
}
func (atRest) Sign(string) (machinegroup.Sign, bool) {
	return machinegroup.Sign{HeardAt: time.Now()}, true
}

// measureGroups looks at groups of machines that are as they shall be.
func measureGroups(ctx context.Context, _ options) (_ []line, err error) {
	m, err := newMachines(ctx)
	defer func() { err = errors.Join(err, m.close()) }()
	if err != nil {
		return nil, err
	}
	_, db, err := m.manager(ctx, m.memory, 0)
	if err != nil {
		return nil, err
	}
	loader, err := restingGroups(ctx, db)
	if err != nil {
		return nil, err
	}
	g, err := machinegroup.New(machinegroup.Options{Machines: atRest{}, Rows: db, Configs: loader, Presence: atRest{}})
	if err != nil {
		return nil, err
	}
	keys, err := g.List(ctx)
	if err != nil {
		return nil, err
	}
	if len(keys) != restGroups {
		return nil, fmt.Errorf("there are %d groups of %d", len(keys), restGroups)
	}
	var took []time.Duration
	for range restPasses {
		began := time.Now()
		if err := lookAt(ctx, g, keys); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return []line{{
		What:  fmt.Sprintf("machines, one look at %d groups at rest", restGroups),
		Value: float64(took[len(took)/2].Microseconds()) / 1000, Format: "%.0f ms",
		Detail: fmt.Sprintf("%d machines each, on a real cache, one group after another; median of %d, %.0f to %.0f ms; nothing is asked of a provider",
			restMachines, restPasses, float64(took[0].Microseconds())/1000, float64(took[len(took)-1].Microseconds())/1000),
	}}, nil
}

func lookAt(ctx context.Context, g *machinegroup.Groups, keys []reconcile.Key) error {
	for _, key := range keys {
		c, err := g.Factory(ctx, key)
		if err != nil {
			return err
		}
		found, err := c.Reconcile(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if !slices.ContainsFunc(found.Conditions, func(c reconcile.Condition) bool { return c.Reason == machinegroup.ReasonReady }) {
			return fmt.Errorf("%s is not at rest: %+v", key, found.Conditions)
		}
	}
	return nil
}

// restingGroups fills the cache with machines that their groups are content with.
func restingGroups(ctx context.Context, db *localdb.DB) (*config.Loader, error) {
	var text []string
	var rows []localdb.Instance
	now := time.Now()
	for i := range restGroups {
		tenant := fmt.Sprintf("t%d", i)
		text = append(text, fmt.Sprintf(`"%s": {"web": {"template": "small", "size": %d}}`, tenant, restMachines))
		for k := range restMachines {
			id := fmt.Sprintf("wrk%dx%d", i, k)
			rows = append(rows, localdb.Instance{
				ID: id, Tenant: tenant, Group: "web", ProviderID: id, NonceHash: id, Status: "running", IssuedAt: now, CreatedAt: now,
				UpdatedAt: now, RegisteredAt: now, RecordVersion: 1, RecordTag: "x",
			})
		}
	}
	if err := db.ReplaceInstances(ctx, rows); err != nil {
		return nil, err
	}
	source := strings.Replace(machineConfig, `"acme": {"web": {"template": "small"}}`, strings.Join(text, ","), 1)
	loader, err := config.NewLoader(config.LoaderOptions{Source: machineText(source)})
	if err != nil {
		return nil, err
	}
	return loader, loader.Refresh(ctx)
}
