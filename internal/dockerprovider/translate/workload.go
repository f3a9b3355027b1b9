package translate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/provider"
)

// Workload is what the spec of a workload is made from. Its services passed
// provider's validation, and their config files are references to the vault.
type Workload struct {
	ID       id.ID
	Name     string
	Kind     provider.WorkloadKind
	Services []provider.ServiceSpec
	Replicas int
	Strategy string // of the rollout; "" is the driver's choice
	Rollout  *provider.RolloutSpec
}

// Service is the spec of the workload's group.
func Service(w Workload) (spec.Service, error) {
	main, ok := Main(w.Services)
	if !ok {
		return spec.Service{}, fmt.Errorf("%w: workload %s has no main service", provider.ErrInvalid, w.ID)
	}
	m := w.member(main)
	s := spec.Service{
		Name: m.Name, Alias: cmp.Or(w.Name, main.Name), Image: m.Image, Command: m.Command, Env: m.Env, Port: m.Port,
		Replicas:  max(w.Replicas, 1),
		Readiness: m.Readiness, Liveness: m.Liveness, Resources: m.Resources, Volumes: m.Volumes, Publish: m.Publish,
		Process: m.Process, SidecarsFirst: main.DependsOn,
		StopGrace: cmp.Or(main.StopGrace, provider.DefaultStopGrace), DrainTimeout: spec.DefaultDrainTimeout, HoldTimeout: spec.DefaultHoldTimeout,
		Stateful: w.Kind == provider.KindStatefulSet,
	}
	for _, svc := range w.Services {
		switch svc.EffectiveRole() {
		case provider.RoleInit:
			s.Inits = append(s.Inits, w.member(svc))
		case provider.RoleSidecar:
			s.Sidecars = append(s.Sidecars, w.member(svc))
		case provider.RoleMain:
		}
	}
	s.Inits = inOrder(s.Inits)
	// An init that main or a sidecar depends on has ended before they start
	// anyway.
	inits := map[string]bool{}
	for _, i := range s.Inits {
		inits[i.Name] = true
	}
	s.SidecarsFirst = without(s.SidecarsFirst, inits)
	for i := range s.Sidecars {
		s.Sidecars[i].DependsOn = without(s.Sidecars[i].DependsOn, inits)
	}
	w.rollout(&s)
	s.Strategy = strategy(w.Strategy, &s)
	return s, nil
}

// Main is the workload's main service.
func Main(services []provider.ServiceSpec) (provider.ServiceSpec, bool) {
	i := slices.IndexFunc(services, func(s provider.ServiceSpec) bool { return s.EffectiveRole() == provider.RoleMain })
	if i < 0 {
		return provider.ServiceSpec{}, false
	}
	return services[i], true
}

// Replicas is how many groups the services ask for.
func Replicas(services []provider.ServiceSpec) int {
	main, _ := Main(services)
	return max(main.Resources.Replicas, 1)
}

// member is one service as a container of the group.
func (w Workload) member(s provider.ServiceSpec) spec.Member {
	return spec.Member{
		Name: s.Name, DependsOn: slices.Sorted(slices.Values(s.DependsOn)), Image: s.Image,
		Command: s.Args, Env: environment(s), Port: firstPort(s.Ports),
		Readiness: readiness(s.HealthCheck, s.Ports), Liveness: liveness(s.Liveness),
		Resources: spec.Resources{MemoryBytes: int64(s.Resources.MemoryMB) << 20, MilliCPU: int64(s.Resources.CPUMillis), Pids: pidsLimit(s.Security)},
		Volumes:   w.volumes(s.Volumes), Publish: publish(s.Ports),
		Process: spec.Process{
			Entrypoint: s.Command, User: s.User, WorkingDir: s.WorkingDir, StopSignal: s.StopSignal, Init: s.Init,
			ReadOnlyRoot: s.Security != nil && s.Security.ReadOnlyRootFS,
			Hardened:     true, CapAdd: capabilities(s.Security), Tmpfs: tmpfs(s.Tmpfs), Files: files(s),
		},
	}
}

// rollout sets the bounds of every rollout.
func (w Workload) rollout(s *spec.Service) {
	var r provider.RolloutSpec
	if w.Rollout != nil {
		r = *w.Rollout
	}
	s.MaxSurge = amount(cmp.Or(r.MaxSurge, provider.DefaultMaxSurge))
	s.MaxUnavailable = amount(cmp.Or(r.MaxUnavailable, provider.DefaultMaxUnavailable))
	s.ReadyTimeout = cmp.Or(r.ReadyTimeout, provider.DefaultReadinessTimeout) + w.startPeriod()
	s.StableWindow = r.StableWindow
}

// startPeriod is the longest time after a start in which a failing check says
// nothing. Failures before the first success never count here, so that it only
// has to fit into the time to become ready.
func (w Workload) startPeriod() time.Duration {
	var longest time.Duration
	for _, s := range w.Services {
		if s.HealthCheck != nil {
			longest = max(longest, s.HealthCheck.StartPeriod)
		}
	}
	return longest
}

// amount is the same number or share, in the one spelling that specs have.
func amount(v provider.IntOrPercent) spec.Amount {
	text := string(v)
	for len(text) > 1 && text[0] == '0' && text[1] != '%' {
		text = text[1:]
	}
	return spec.Amount(text)
}

// inOrder sorts inits so that each comes after those that it depends on, and
// else as they were listed. Validation keeps circles out.
func inOrder(inits []spec.Member) []spec.Member {
	var out []spec.Member
	done := map[string]bool{}
	for len(out) < len(inits) {
		before := len(out)
		for _, m := range inits {
			ready := !slices.ContainsFunc(m.DependsOn, func(d string) bool { return !done[d] })
			if !done[m.Name] && ready {
				done[m.Name] = true
				out = append(out, m)
			}
		}
		if len(out) == before {
			return inits
		}
	}
	return out
}

func without(names []string, gone map[string]bool) []string {
	var out []string
	for _, n := range names {
		if !gone[n] {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}
