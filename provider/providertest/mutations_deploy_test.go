package providertest_test

import (
	"context"
	"errors"
	"net"
	"net/url"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/memory/memorytest"
	"github.com/berth-cloud/berth/provider/providertest"
	"github.com/berth-cloud/berth/secrets"
)

// onDeploy changes a deploy.
func onDeploy(change func(r *provider.DeployRequest)) func(*mutant) {
	return func(m *mutant) {
		m.deploy = func(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
			req.Services = append([]provider.ServiceDeploySpec(nil), req.Services...)
			change(&req)
			return m.Provider.Deploy(ctx, req)
		}
	}
}

// onChange changes each service of a deploy.
func onChange(change func(d *provider.ServiceDeploySpec)) func(*mutant) {
	return onDeploy(func(r *provider.DeployRequest) {
		for i := range r.Services {
			change(&r.Services[i])
		}
	})
}

// accepts makes Deploy succeed where it is to be refused.
func accepts(target error) func(*mutant) {
	return func(m *mutant) {
		m.deploy = func(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
			res, err := m.Provider.Deploy(ctx, req)
			if errors.Is(err, target) {
				return &provider.DeployResult{Status: provider.DeployAccepted}, nil
			}
			return res, err
		}
	}
}

// deployMutations break the way from one release to another.
var deployMutations = []mutation{
	{name: "the image stays", fails: []string{"Deploy/Image"}, break_: onChange(func(d *provider.ServiceDeploySpec) { d.Image = "program:1" })},
	{name: "variables stay", fails: []string{"Deploy/EnvOnly"}, break_: onChange(func(d *provider.ServiceDeploySpec) { d.Env = nil })},
	{name: "commands stay", fails: []string{"Deploy/CommandOnly"}, break_: onChange(func(d *provider.ServiceDeploySpec) { d.Command, d.Args = nil, nil })},
	{name: "ports stay", fails: []string{"Deploy/Ports"}, break_: onChange(func(d *provider.ServiceDeploySpec) { d.Ports = nil })},
	{name: "config files stay", fails: []string{"Secrets/ConfigFileOnly"}, break_: onChange(func(d *provider.ServiceDeploySpec) { d.ConfigFiles = nil })},
	{name: "nil is empty", fails: []string{"Deploy/NilKeeps"}, break_: onChange(func(d *provider.ServiceDeploySpec) {
		if d.Env == nil {
			d.Env = map[string]string{}
		}
	})},
	{name: "empty is nil", fails: []string{"Deploy/EmptyReplaces"}, break_: onChange(func(d *provider.ServiceDeploySpec) {
		if len(d.Env) == 0 {
			d.Env = nil
		}
	})},
	{name: "a deploy takes others along", fails: []string{"Deploy/UnlistedStay"}, break_: onDeploy(func(r *provider.DeployRequest) {
		if r.Services[0].Name == "web" {
			r.Services = append(r.Services, provider.ServiceDeploySpec{Name: "side", Image: r.Services[0].Image})
		}
	})},
	{name: "unknown services are ignored", fails: []string{"Deploy/UnknownService"}, break_: onDeploy(func(r *provider.DeployRequest) { r.Services = r.Services[:1] })},
	{name: "nonsense is accepted", fails: []string{"Deploy/Empty", "Deploy/Invalid"}, break_: accepts(provider.ErrInvalid)},
	{name: "one release may have two contents", fails: []string{"Deploy/Conflict"}, break_: accepts(provider.ErrConflict)},
	{name: "another rollout is forgotten", fails: []string{"Deploy/Busy"}, break_: accepts(provider.ErrBusy)},
	{name: "a repeated deploy begins anew", fails: []string{"Deploy/Repeated"}, break_: func(m *mutant) {
		m.deploy = func(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
			st, err := m.Provider.Status(ctx, req.InstanceID)
			res, derr := m.Provider.Deploy(ctx, req)
			if err == nil && derr == nil && st.TargetReleaseID == req.ReleaseID {
				derr = m.Provider.Restart(ctx, req.InstanceID)
			}
			return res, derr
		}
	}},
	{
		name: "old before new", fails: []string{"Deploy/NoGap", "Deploy/BlueGreen", "Deploy/Rolling"},
		break_: onDeploy(func(r *provider.DeployRequest) { r.Strategy = provider.StrategyRecreate }),
	},
	{name: "blue-green is rolling", fails: []string{"Deploy/BlueGreen"}, break_: onDeploy(func(r *provider.DeployRequest) {
		r.Strategy = provider.StrategyRolling
	})},
	{name: "the bounds are ignored", fails: []string{"Deploy/Rolling"}, break_: func(m *mutant) {
		loose := &provider.RolloutSpec{MaxSurge: "0", MaxUnavailable: "2"}
		m.deploy = func(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
			req.Rollout = loose
			return m.Provider.Deploy(ctx, req)
		}
	}},
	{name: "a strategy does nothing", fails: []string{"Deploy/Recreate"}, break_: func(m *mutant) {
		m.deploy = func(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
			if req.Strategy == provider.StrategyRecreate {
				return &provider.DeployResult{Status: provider.DeploySucceeded}, nil
			}
			return m.Provider.Deploy(ctx, req)
		}
	}},
	{name: "a strategy that is not listed is another", fails: []string{"Deploy/UnsupportedStrategy"}, break_: onDeploy(func(r *provider.DeployRequest) { r.Strategy = "" })},
	{
		name: "a failure stops what served", fails: []string{"Deploy/RecreateFails", "Deploy/FailureKeepsOld", "Deploy/InitFailureKeepsOld"},
		break_: func(m *mutant) {
			m.status = func(ctx context.Context, i id.ID) (*provider.InstanceStatus, error) {
				st, err := m.Provider.Status(ctx, i)
				if err == nil && st.Reason == provider.ReasonRolloutFailed {
					_ = m.Provider.Stop(ctx, i)
				}
				return st, err
			}
		},
	},
	{name: "a failure has no cause", fails: []string{"Deploy/FailureKeepsOld", "Provision/MainFails", "Secrets/Missing"}, break_: func(m *mutant) {
		m.status = func(ctx context.Context, i id.ID) (*provider.InstanceStatus, error) {
			st, err := m.Provider.Status(ctx, i)
			if err == nil {
				st.Message = ""
				for name, s := range st.Services {
					s.Message = ""
					st.Services[name] = s
				}
			}
			return st, err
		}
	}},
	{name: "what failed is the base", fails: []string{"Deploy/FailureIsNoBase"}, break_: func(m *mutant) {
		last := map[string]provider.ServiceDeploySpec{}
		m.deploy = func(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
			listed := map[string]bool{}
			for _, d := range req.Services {
				listed[d.Name] = true
			}
			for name, d := range last {
				if !listed[name] {
					req.Services = append(req.Services, d)
				}
			}
			for _, d := range req.Services {
				last[d.Name] = d
			}
			return m.Provider.Deploy(ctx, req)
		}
	}},
	{name: "a deploy forgets the size", fails: []string{"Scale/SurvivesDeploy"}, break_: onChange(func(d *provider.ServiceDeploySpec) {
		d.Resources = &provider.ResourceSpec{Replicas: 1}
	})},
	{name: "Rollback does nothing", fails: []string{"Deploy/Rollback", "Deploy/RollbackToInitial", "Deploy/RollbackAfterFailure"}, break_: func(m *mutant) {
		m.rollback = func(context.Context, id.ID, id.ID) error { return nil }
	}},
	{name: "Rollback to anything succeeds", fails: []string{"Deploy/RollbackUnknown"}, break_: func(m *mutant) {
		m.rollback = func(ctx context.Context, i, release id.ID) error {
			return without(m.Provider.Rollback(ctx, i, release), provider.ErrNotFound)
		}
	}},
	{name: "Rollback stops first", fails: []string{"Deploy/RollbackNoGap"}, break_: func(m *mutant) {
		m.rollback = func(ctx context.Context, i, release id.ID) error {
			return errors.Join(m.Provider.Stop(ctx, i), m.Provider.Start(ctx, i), m.Provider.Rollback(ctx, i, release))
		}
	}},
	{
		name: "values are always the newest", fails: []string{"Secrets/Rollback"},
		world: func(w *memorytest.World, fx *providertest.Fixture) {
			w.Vault = newest{w.Vault}
			fx.Provider = w.Provider()
		},
	},
	{
		name: "a vault is for all tenants", fails: []string{"Secrets/OtherTenant"},
		world: func(w *memorytest.World, fx *providertest.Fixture) {
			w.Vault = commune{w.Vault}
			fx.Provider = w.Provider()
		},
	},
	{name: "without a record is not found", fails: []string{"Deploy/NoRecord"}, break_: func(m *mutant) {
		m.deploy = func(ctx context.Context, req provider.DeployRequest) (*provider.DeployResult, error) {
			res, err := m.Provider.Deploy(ctx, req)
			if errors.Is(err, provider.ErrNoRecord) {
				err = provider.ErrNotFound
			}
			return res, err
		}
	}},
}

// newest is a vault whose old versions are the newest.
type newest struct{ secrets.Vault }

func (v newest) Get(ctx context.Context, ref secrets.Ref, _ secrets.Version) (secrets.Secret, secrets.Version, error) {
	return v.Vault.Get(ctx, ref, 0)
}

// commune is a vault that also looks where it must not.
type commune struct{ secrets.Vault }

func (v commune) Get(ctx context.Context, ref secrets.Ref, version secrets.Version) (secrets.Secret, secrets.Version, error) {
	s, found, err := v.Vault.Get(ctx, ref, version)
	if errors.Is(err, secrets.ErrNotFound) {
		ref.Tenant += "-other"
		return v.Vault.Get(ctx, ref, version)
	}
	return s, found, err
}

// dialNobody refuses every name.
func dialNobody(ctx context.Context, p *memory.Process, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err == nil && net.ParseIP(host) == nil {
		return nil, &net.DNSError{Err: "no such host", Name: host}
	}
	return p.Dial(ctx, address)
}

// dialFirst leads the name of a sidecar to that of the first replica.
func dialFirst(p provider.Provider) func(context.Context, *memory.Process, string) (net.Conn, error) {
	return func(ctx context.Context, inside *memory.Process, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil || host != "side" {
			return inside.Dial(ctx, address)
		}
		i, _ := inside.Label("berth.instance")
		instance, err := id.Parse(i)
		if err != nil {
			return nil, err
		}
		st, err := p.Status(ctx, instance)
		if err != nil {
			return nil, err
		}
		for _, ep := range st.Endpoints {
			if u, err := url.Parse(ep.URL); err == nil && ep.ServiceName == host {
				return inside.Dial(ctx, u.Host)
			}
		}
		return nil, errors.New("nobody is there")
	}
}
