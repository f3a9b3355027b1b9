package providertest_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// keptMutations break volumes that are a tenant's, and what is known of images.
var keptMutations = []mutation{
	{name: "a tenant's volumes go with the instance", fails: []string{"Kept/Stays"}, break_: func(m *mutant) {
		m.deprovision = func(ctx context.Context, i id.ID) error {
			if err := m.Provider.Deprovision(ctx, i); err != nil {
				return err
			}
			all, err := m.Provider.KeptVolumes(ctx, "")
			for _, v := range all {
				_ = m.Provider.RemoveKeptVolume(ctx, v.TenantID, v.ID)
			}
			return err
		}
	}},
	{name: "every tenant sees all volumes", fails: []string{"Kept/Tenants"}, break_: func(m *mutant) {
		m.kept = func(ctx context.Context, _ string) ([]provider.KeptVolume, error) {
			return m.Provider.KeptVolumes(ctx, "")
		}
	}},
	{name: "nobody's volume is removed with success", fails: []string{"Kept/Tenants"}, break_: func(m *mutant) {
		m.removeKept = func(ctx context.Context, tenant, volume string) error {
			return without(m.Provider.RemoveKeptVolume(ctx, tenant, volume), provider.ErrNotFound)
		}
	}},
	{name: "a volume in use is removed with success", fails: []string{"Kept/Remove"}, break_: func(m *mutant) {
		m.removeKept = func(ctx context.Context, tenant, volume string) error {
			return without(m.Provider.RemoveKeptVolume(ctx, tenant, volume), provider.ErrBusy)
		}
	}},
	{name: "the second writer only reads", fails: []string{"Kept/OneWriter"}, break_: func(m *mutant) {
		var mu sync.Mutex
		first := id.Nil
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			mu.Lock()
			defer mu.Unlock()
			if first.IsNil() {
				first = req.InstanceID
			}
			req.Services = provider.CloneServices(req.Services)
			req.Services[0].Volumes[0].ReadOnly = req.InstanceID != first
			return m.Provider.Provision(ctx, req)
		}
	}},
	{name: "who waits for a volume is on its way", fails: []string{"Kept/OneWriter"}, break_: reasoned(provider.ReasonVolumeInUse)},
	{name: "no volume holds anything", fails: []string{"Kept/Usage"}, break_: func(m *mutant) {
		m.usage = func(context.Context, string, []string) (map[string]int64, error) { return map[string]int64{}, nil }
	}},
	{name: "every volume is measured, whether it is there or not", fails: []string{"Kept/Usage"}, break_: func(m *mutant) {
		m.usage = func(ctx context.Context, tenant string, volumes []string) (map[string]int64, error) {
			out, err := m.Provider.KeptVolumeUsage(ctx, tenant, volumes)
			for _, v := range volumes {
				if _, there := out[v]; !there && err == nil {
					out[v] = 0
				}
			}
			return out, err
		}
	}},
	{name: "a scale without volumes succeeds", fails: []string{"Kept/Scale"}, break_: func(m *mutant) {
		m.scale = func(ctx context.Context, i id.ID, spec provider.ResourceSpec) error {
			return without(m.Provider.Scale(ctx, i, spec), provider.ErrInvalid)
		}
	}},
	{name: "a deploy forgets the ids", fails: []string{"Kept/Rollback"}, break_: onChange(func(d *provider.ServiceDeploySpec) {
		d.Volumes = slices.Clone(d.Volumes)
		for i := range d.Volumes {
			d.Volumes[i].IDs = nil
		}
	})},
	{name: "what is wrong with ids is made good", fails: []string{"Kept/Invalid"}, break_: onRequest(func(r *provider.ProvisionRequest) {
		r.Kind = provider.KindStatefulSet
		if r.TenantID == "" {
			r.TenantID = "somebody"
		}
	})},
	{name: "a call that failed fails for good", fails: []string{"Kept/RepeatedAfterFailure"}, break_: func(m *mutant) {
		var mu sync.Mutex
		failed := map[id.ID]error{}
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			mu.Lock()
			defer mu.Unlock()
			if err := failed[req.InstanceID]; err != nil {
				return nil, err
			}
			res, err := m.Provider.Provision(ctx, req)
			failed[req.InstanceID] = err
			return res, err
		}
	}},
	{name: "what another process began is a conflict", fails: []string{"Kept/RepeatedAfterCrash"}, break_: func(m *mutant) {
		var mu sync.Mutex
		own := map[id.ID]bool{}
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			mu.Lock()
			defer mu.Unlock()
			if _, err := m.Provider.Status(ctx, req.InstanceID); err == nil && !own[req.InstanceID] {
				return nil, fmt.Errorf("%w: it is there", provider.ErrConflict)
			}
			own[req.InstanceID] = true
			return m.Provider.Provision(ctx, req)
		}
	}},
	{name: "all images have one digest", fails: []string{"Image/Inspect"}, break_: func(m *mutant) {
		m.inspect = func(ctx context.Context, ref string) (*provider.ImageInfo, error) {
			info, err := m.Provider.InspectImage(ctx, ref)
			if err == nil {
				info.Digest = "sha256:0"
			}
			return info, err
		}
	}},
	{name: "an image that there is none of is not found", fails: []string{"Image/Unavailable"}, break_: func(m *mutant) {
		m.inspect = func(ctx context.Context, ref string) (*provider.ImageInfo, error) {
			info, err := m.Provider.InspectImage(ctx, ref)
			if err != nil {
				err = provider.ErrNotFound
			}
			return info, err
		}
	}},
	{name: "a name has at most 40 characters", fails: []string{"Names/Long"}, break_: func(m *mutant) {
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			for _, s := range req.Services {
				if len(s.Name) > provider.MaxNameLength {
					return nil, fmt.Errorf("%w: service %s", provider.ErrInvalid, s.Name)
				}
			}
			return m.Provider.Provision(ctx, req)
		}
	}},
	{name: "processes have no bound", fails: []string{"Provision/PidsLimit"}, break_: onSpec(func(s *provider.ServiceSpec) {
		s.Security = nil
	})},
}
