package providertest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/memory/memorytest"
	"github.com/berth-cloud/berth/provider/providertest"
	"github.com/berth-cloud/berth/secrets"
)

var mutations = slices.Concat(callMutations, specMutations, deployMutations, statusMutations, lifeMutations, lookMutations, contextMutations, keptMutations)

// onRequest changes what is provisioned.
func onRequest(change func(r *provider.ProvisionRequest)) func(*mutant) {
	return func(m *mutant) {
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			req.Services = provider.CloneServices(req.Services)
			change(&req)
			return m.Provider.Provision(ctx, req)
		}
	}
}

// onSpec changes each service that is provisioned.
func onSpec(change func(s *provider.ServiceSpec)) func(*mutant) {
	return onRequest(func(r *provider.ProvisionRequest) {
		for i := range r.Services {
			change(&r.Services[i])
		}
	})
}

// without makes one error of a call a success.
func without(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}

// callMutations break how calls are answered and repeated.
var callMutations = []mutation{
	{name: "a repeated Provision begins anew", fails: []string{"Provision/Repeated", "Provision/RepeatedAfterDeploy"}, break_: func(m *mutant) {
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			_, err := m.Provider.Status(ctx, req.InstanceID)
			res, perr := m.Provider.Provision(ctx, req)
			if err == nil && perr == nil {
				perr = m.Provider.Restart(ctx, req.InstanceID)
			}
			return res, perr
		}
	}},
	{name: "another request is taken for the same", fails: []string{"Provision/Conflict"}, break_: func(m *mutant) {
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			res, err := m.Provider.Provision(ctx, req)
			if errors.Is(err, provider.ErrConflict) {
				return &provider.ProvisionResult{}, nil
			}
			return res, err
		}
	}},
	{name: "Start of an unknown instance succeeds", fails: []string{"Provision/NotFound", "Deprovision/AllMethodsAfter"}, break_: func(m *mutant) {
		m.start = func(ctx context.Context, i id.ID) error {
			return without(m.Provider.Start(ctx, i), provider.ErrNotFound)
		}
	}},
	{name: "Deprovision of nothing is an error", fails: []string{"Deprovision/NotFound"}, break_: func(m *mutant) {
		m.deprovision = func(ctx context.Context, i id.ID) error {
			if _, err := m.Provider.Status(ctx, i); err != nil {
				return err
			}
			return m.Provider.Deprovision(ctx, i)
		}
	}},
	{name: "validation tells one problem", fails: []string{"Provision/Invalid"}, break_: func(m *mutant) {
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			res, err := m.Provider.Provision(ctx, req)
			if errors.Is(err, provider.ErrInvalid) {
				return nil, provider.ErrInvalid
			}
			return res, err
		}
	}},
	{name: "a failure is for ever", fails: []string{"Provision/RepeatedAfterFailure", "Deploy/RepeatedAfterFailure"}, break_: func(m *mutant) {
		var mu sync.Mutex
		failed := map[id.ID]error{}
		remember := func(i id.ID, call func() error) error {
			mu.Lock()
			defer mu.Unlock()
			if failed[i] == nil {
				failed[i] = call()
			}
			return failed[i]
		}
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (res *provider.ProvisionResult, err error) {
			err = remember(req.InstanceID, func() error { res, err = m.Provider.Provision(ctx, req); return err })
			return res, err
		}
		m.deploy = func(ctx context.Context, req provider.DeployRequest) (res *provider.DeployResult, err error) {
			err = remember(req.ReleaseID, func() error { res, err = m.Provider.Deploy(ctx, req); return err })
			return res, err
		}
	}},
	{name: "Deprovision tries once", mode: memory.Stepped, fails: []string{"Deprovision/RepeatedAfterFailure"}, break_: func(m *mutant) {
		tried := map[id.ID]bool{}
		m.deprovision = func(ctx context.Context, i id.ID) error {
			if tried[i] {
				return nil
			}
			tried[i] = true
			return m.Provider.Deprovision(ctx, i)
		}
	}},
	{
		name: "the records go with the process",
		fails: []string{
			"Provision/Crash", "Deploy/Crash", "Deprovision/Crash", "Deploy/AfterRestart", "Deploy/RestartDuringRollout",
		},
		world: func(_ *memorytest.World, fx *providertest.Fixture) {
			restart := fx.Restart
			fx.Restart = func(bool) provider.Provider { return restart(false) }
		},
	},
	{name: "capabilities are handed out", fails: []string{"Provision/Capabilities"}, break_: func(m *mutant) {
		all := m.Provider.Capabilities()
		m.capabilities = func() []provider.Capability { return all }
	}},
	{name: "an engine is listed that is not there", fails: []string{"Provision/Capabilities"}, break_: func(m *mutant) {
		m.capabilities = func() []provider.Capability { return append(m.Provider.Capabilities(), provider.CapHelm) }
	}},
	{name: "a GPU is ignored", fails: []string{"Provision/Unsupported"}, break_: onSpec(func(s *provider.ServiceSpec) { s.Resources.GPU = "" })},
	{name: "no answer is healthy", fails: []string{"Provision/HealthCheck"}, break_: func(m *mutant) {
		m.check = func(ctx context.Context) (*provider.HealthStatus, error) {
			st, err := m.Provider.HealthCheck(ctx)
			st.Healthy = true
			return st, err
		}
	}},
	{name: "calls at once disturb each other", fails: []string{"Concurrent/OneInstance", "Concurrent/SameProvision", "Concurrent/ManyInstances"}, break_: func(m *mutant) {
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			defer m.busy.Add(-1)
			if m.busy.Add(1) > 1 {
				return nil, errors.New("two calls at once")
			}
			<-time.After(time.Millisecond) // or they are so fast that they never meet
			return m.Provider.Provision(ctx, req)
		}
	}},
	{name: "a message tells a secret", fails: []string{"Secrets/Canary"}, break_: func(m *mutant) {
		m.status = func(ctx context.Context, i id.ID) (*provider.InstanceStatus, error) {
			st, err := m.Provider.Status(ctx, i)
			if s, _, e := m.world.Vault.Get(ctx, secrets.Ref{Tenant: memorytest.Tenant, Key: "one"}, 0); err == nil && e == nil {
				st.Message += s.RevealString()
			}
			return st, err
		}
	}},
	{name: "a label tells a config file", fails: []string{"Secrets/Canary"}, break_: onRequest(func(r *provider.ProvisionRequest) {
		if files := r.Services[0].ConfigFiles; len(files) > 0 {
			r.Labels = map[string]string{"config": files[0].Content}
		}
	})},
	{name: "an error tells a config file", fails: []string{"Secrets/Canary"}, break_: func(m *mutant) {
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			res, err := m.Provider.Provision(ctx, req)
			if err != nil {
				err = fmt.Errorf("%w: %v", err, req)
			}
			return res, err
		}
	}},
}

// specMutations forget a part of what is provisioned.
var specMutations = []mutation{
	{
		name: "dependencies are forgotten", break_: onSpec(func(s *provider.ServiceSpec) { s.DependsOn = nil }),
		fails: []string{"Provision/Order", "Provision/SidecarBeforeMain", "Provision/SidecarAfterReadyMain", "StartStop/Order"},
	},
	{name: "there is one replica", fails: []string{"Provision/PerReplica"}, break_: onSpec(func(s *provider.ServiceSpec) { s.Resources.Replicas = 1 })},
	{name: "checks are forgotten", fails: []string{"Provision/HealthHTTP", "Provision/HealthExec", "Provision/NotReady"}, break_: onSpec(func(s *provider.ServiceSpec) {
		s.HealthCheck = nil
	})},
	{name: "any status is healthy that is usual", fails: []string{"Provision/ExpectedStatus"}, break_: onSpec(func(s *provider.ServiceSpec) {
		if s.HealthCheck != nil {
			s.HealthCheck.ExpectedStatus = 0
		}
	})},
	{name: "liveness is forgotten", fails: []string{"Provision/Liveness"}, break_: onSpec(func(s *provider.ServiceSpec) { s.Liveness = nil })},
	{name: "limits are forgotten", fails: []string{"Provision/OutOfMemory", "Scale/CPU", "Scale/Memory", "Resources/Limit"}, break_: onSpec(func(s *provider.ServiceSpec) {
		s.Resources.MemoryMB, s.Resources.CPUMillis = 0, 0
	})},
	{name: "labels are forgotten", fails: []string{"Provision/Labels"}, break_: onRequest(func(r *provider.ProvisionRequest) { r.Labels = nil })},
	{name: "annotations are on everything", fails: []string{"Provision/Labels"}, break_: onRequest(func(r *provider.ProvisionRequest) {
		for i := range r.Services {
			r.Services[i].Annotations = r.Services[0].Annotations
		}
	})},
	{
		name: "volumes may have many writers", fails: []string{"Deploy/OneWriter", "Scale/OneWriter"},
		break_: onSpec(func(s *provider.ServiceSpec) {
			for i := range s.Volumes {
				s.Volumes[i].Shared = true
			}
		}),
	},
	{
		name: "replicas share a volume", fails: []string{"StartStop/StatefulIdentity", "Scale/StatefulKeepsData", "Provision/PerReplica"},
		break_: onRequest(func(r *provider.ProvisionRequest) {
			r.Kind = provider.KindDeployment
			for i := range r.Services {
				for j := range r.Services[i].Volumes {
					r.Services[i].Volumes[j].Shared = true
				}
			}
		}),
	},
	{name: "secrets are forgotten", fails: []string{"Secrets/Env", "Secrets/File", "Deploy/NilKeeps"}, break_: onSpec(func(s *provider.ServiceSpec) { s.Secrets = nil })},
	{name: "every secret is optional", fails: []string{"Secrets/Missing", "Secrets/OtherTenant"}, break_: onSpec(func(s *provider.ServiceSpec) {
		for i := range s.Secrets {
			s.Secrets[i].Optional = true
		}
	})},
	{name: "no secret is optional", fails: []string{"Secrets/Optional"}, break_: onSpec(func(s *provider.ServiceSpec) {
		for i := range s.Secrets {
			s.Secrets[i].Optional = false
		}
	})},
	{name: "config files are forgotten", fails: []string{"Secrets/ConfigFile"}, break_: onSpec(func(s *provider.ServiceSpec) { s.ConfigFiles = nil })},
	{name: "networks are forgotten", fails: []string{"Names/SharedNetwork"}, break_: onRequest(func(r *provider.ProvisionRequest) { r.Network = "" })},
	{name: "tenants are forgotten", fails: []string{"Names/OtherTenant"}, break_: onRequest(func(r *provider.ProvisionRequest) {
		r.TenantID = strings.TrimSuffix(r.TenantID, "-other")
	})},
	{name: "the time to end is short", fails: []string{"StartStop/Grace"}, break_: onSpec(func(s *provider.ServiceSpec) { s.StopGrace = 1 })},
	{name: "inits do not matter", fails: []string{"Provision/InitFails"}, break_: onSpec(func(s *provider.ServiceSpec) {
		if s.Role == provider.RoleInit {
			s.Args = []string{"out:skipped"}
		}
	})},
	{
		name: "names lead to the first replica", fails: []string{"Names/PerReplica"},
		world: func(w *memorytest.World, fx *providertest.Fixture) { w.Dial(dialFirst(fx.Provider)) },
	},
	{
		name: "there are no names", fails: []string{"Names/WithinGroup"},
		world: func(w *memorytest.World, _ *providertest.Fixture) { w.Dial(dialNobody) },
	},
}
