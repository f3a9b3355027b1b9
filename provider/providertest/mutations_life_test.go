package providertest_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/memory/memorytest"
	"github.com/berth-cloud/berth/secrets"
)

// onStatus changes what is reported.
func onStatus(change func(st *provider.InstanceStatus)) func(*mutant) {
	return func(m *mutant) {
		m.status = func(ctx context.Context, i id.ID) (*provider.InstanceStatus, error) {
			st, err := m.Provider.Status(ctx, i)
			if err == nil {
				change(st)
			}
			return st, err
		}
	}
}

// onService changes what is reported of each service.
func onService(change func(s *provider.ServiceStatus)) func(*mutant) {
	return onStatus(func(st *provider.InstanceStatus) {
		for name, s := range st.Services {
			change(&s)
			st.Services[name] = s
		}
	})
}

// reasoned hides a reason behind another one.
func reasoned(hidden provider.Reason) func(*mutant) {
	return onStatus(func(st *provider.InstanceStatus) {
		if st.Reason == hidden {
			st.Reason = provider.ReasonStartFailed
		}
		for name, s := range st.Services {
			if s.Reason == hidden {
				s.Reason = provider.ReasonStartFailed
			}
			st.Services[name] = s
		}
	})
}

// statusMutations report what is not.
var statusMutations = []mutation{
	{name: "everything has restarted", fails: []string{"Provision/Status"}, break_: onStatus(func(st *provider.InstanceStatus) { st.Restarts++ })},
	{name: "nothing has restarted", fails: []string{"Provision/CrashLoop", "Provision/Liveness"}, break_: onService(func(s *provider.ServiceStatus) { s.Restarts = 0 })},
	{name: "what runs is ready", mode: memory.Stepped, fails: []string{"Provision/HealthTCP", "Provision/HealthHTTP", "Provision/HealthExec"}, break_: onStatus(func(st *provider.InstanceStatus) {
		st.Ready, st.Available = true, true
	})},
	{name: "what was ready stays so", fails: []string{"Provision/Unhealthy"}, break_: func(m *mutant) {
		var mu sync.Mutex
		was := map[id.ID]bool{}
		m.status = func(ctx context.Context, i id.ID) (*provider.InstanceStatus, error) {
			st, err := m.Provider.Status(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				was[i] = was[i] || st.Ready
				st.Ready = was[i]
			}
			return st, err
		}
	}},
	{name: "a failed init is an exit", fails: []string{"Provision/InitFails"}, break_: reasoned(provider.ReasonInitFailed)},
	{name: "a crash is a failure to start", fails: []string{"Provision/MainFails"}, break_: reasoned(provider.ReasonExited)},
	{name: "a missing image is a failure to start", fails: []string{"Provision/UnknownImage"}, break_: reasoned(provider.ReasonImageUnavailable)},
	{name: "memory is no reason", fails: []string{"Provision/OutOfMemory"}, break_: reasoned(provider.ReasonOutOfMemory)},
	{name: "a failure is a start", fails: []string{"Step/AwaitFailure", "Provision/NotReady"}, break_: onStatus(func(st *provider.InstanceStatus) {
		if st.State == provider.StateFailed {
			st.State = provider.StateStarting
		}
	})},
	{name: "only main has ways in", fails: []string{"Provision/Endpoints"}, break_: onStatus(func(st *provider.InstanceStatus) {
		st.Endpoints = st.Endpoints[len(st.Endpoints)/2:]
	})},
	{name: "ways in stay what they were", fails: []string{"Deploy/Endpoints"}, break_: func(m *mutant) {
		var mu sync.Mutex
		first := map[id.ID][]provider.Endpoint{}
		m.status = func(ctx context.Context, i id.ID) (*provider.InstanceStatus, error) {
			st, err := m.Provider.Status(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && st.Ready && first[i] == nil {
				first[i] = st.Endpoints
			}
			if err == nil && first[i] != nil {
				st.Endpoints = first[i]
			}
			return st, err
		}
	}},
	{name: "the result has other handles", fails: []string{"Provision/Result"}, break_: func(m *mutant) {
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			res, err := m.Provider.Provision(ctx, req)
			if err == nil {
				res.ServiceRefs["web"] = "another"
			}
			return res, err
		}
	}},
}

// lifeMutations break Scale, Start, Stop, Restart and Deprovision.
var lifeMutations = []mutation{
	{name: "zero is one replica", fails: []string{"Scale/ZeroKeeps"}, break_: func(m *mutant) {
		m.scale = func(ctx context.Context, i id.ID, spec provider.ResourceSpec) error {
			spec.Replicas = max(spec.Replicas, 1)
			return m.Provider.Scale(ctx, i, spec)
		}
	}},
	{name: "Scale does nothing", fails: []string{"Scale/Replicas", "Scale/CPU", "Scale/Memory", "Scale/StatefulKeepsData"}, break_: func(m *mutant) {
		m.scale = func(context.Context, id.ID, provider.ResourceSpec) error { return nil }
	}},
	{name: "Scale replaces everything", fails: []string{"Scale/Repeated", "Scale/ZeroKeeps"}, break_: func(m *mutant) {
		m.scale = func(ctx context.Context, i id.ID, spec provider.ResourceSpec) error {
			return errors.Join(m.Provider.Scale(ctx, i, spec), m.Provider.Restart(ctx, i))
		}
	}},
	{name: "any size will do", fails: []string{"Scale/Invalid", "Scale/OneWriter"}, break_: func(m *mutant) {
		m.scale = func(ctx context.Context, i id.ID, spec provider.ResourceSpec) error {
			return without(m.Provider.Scale(ctx, i, spec), provider.ErrInvalid)
		}
	}},
	{name: "Start begins anew", fails: []string{"StartStop/KeepsData"}, break_: func(m *mutant) {
		asked := map[id.ID]provider.ProvisionRequest{}
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			asked[req.InstanceID] = req
			return m.Provider.Provision(ctx, req)
		}
		m.start = func(ctx context.Context, i id.ID) error {
			if err := m.Provider.Deprovision(ctx, i); err != nil {
				return err
			}
			_, err := m.Provider.Provision(ctx, asked[i])
			return err
		}
	}},
	{name: "Start replaces what runs", fails: []string{"StartStop/Repeated"}, break_: func(m *mutant) {
		m.start = func(ctx context.Context, i id.ID) error { return m.Provider.Restart(ctx, i) }
	}},
	{name: "Stop does nothing", fails: []string{"StartStop/Status", "StartStop/StopAfterFailure", "Exec/NotRunning"}, break_: func(m *mutant) {
		m.stop = func(context.Context, id.ID) error { return nil }
	}},
	{name: "Restart does nothing", fails: []string{"StartStop/Restart", "StartStop/RestartOfAStopped"}, break_: func(m *mutant) {
		m.restart = func(context.Context, id.ID) error { return nil }
	}},
	{name: "Restart is Stop and Start", fails: []string{"StartStop/RestartNoGap"}, break_: func(m *mutant) {
		m.restart = func(ctx context.Context, i id.ID) error {
			return errors.Join(m.Provider.Stop(ctx, i), m.Provider.Start(ctx, i))
		}
	}},
	{name: "Deprovision leaves a secret", fails: []string{"Deprovision/LeavesNothing", "Deprovision/OfAStopped", "Cancel/ThenDeprovision"}, break_: func(m *mutant) {
		m.deprovision = func(ctx context.Context, i id.ID) error {
			_, _ = m.world.Vault.Put(ctx, secrets.Ref{Tenant: memorytest.Tenant, Key: "left/" + i.String()}, secrets.NewSecretString("x"))
			return m.Provider.Deprovision(ctx, i)
		}
	}},
	{name: "Deprovision waits for rollouts", mode: memory.Stepped, fails: []string{"Deprovision/DuringRollout", "Deprovision/DuringProvision"}, break_: func(m *mutant) {
		m.deprovision = func(ctx context.Context, i id.ID) error {
			if st, err := m.Provider.Status(ctx, i); err == nil && st.ReleaseID != st.TargetReleaseID {
				return provider.ErrBusy
			}
			return m.Provider.Deprovision(ctx, i)
		}
	}},
	{name: "Deprovision stops others", fails: []string{"Deprovision/LeavesOthers"}, break_: func(m *mutant) {
		known := map[id.ID]bool{}
		m.provision = func(ctx context.Context, req provider.ProvisionRequest) (*provider.ProvisionResult, error) {
			known[req.InstanceID] = true
			return m.Provider.Provision(ctx, req)
		}
		m.deprovision = func(ctx context.Context, i id.ID) error {
			for other := range known {
				_ = m.Provider.Stop(ctx, other)
			}
			return m.Provider.Deprovision(ctx, i)
		}
	}},
	{name: "Deprovision only stops", fails: []string{"Deprovision/ThenProvision"}, break_: func(m *mutant) {
		m.deprovision = func(ctx context.Context, i id.ID) error {
			return without(m.Provider.Stop(ctx, i), provider.ErrNotFound)
		}
	}},
	{name: "nobody steps", mode: memory.Stepped, fails: []string{"Step/Await"}, break_: func(m *mutant) {
		m.step = func(context.Context, id.ID) (time.Duration, error) { return 0, nil }
	}},
	{name: "Step at rest is an error", fails: []string{"Step/AtRest"}, break_: func(m *mutant) {
		m.step = func(ctx context.Context, i id.ID) (time.Duration, error) {
			if st, err := m.Provider.Status(ctx, i); err == nil && st.Ready {
				return 0, errors.New("nothing to do")
			}
			return m.Provider.Step(ctx, i)
		}
	}},
	{name: "Watch tells nothing", fails: []string{"Step/Watch"}, break_: func(m *mutant) {
		m.watch = func(ctx context.Context, ready func(), _ func(id.ID)) error {
			ready()
			<-ctx.Done()
			return ctx.Err()
		}
	}},
}
