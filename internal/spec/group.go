package spec

import "slices"

// Main is the service's main container as a member of its group.
func (s *Service) Main() Member {
	return Member{
		Name: s.Name, Image: s.Image, Command: s.Command, Env: s.Env, Port: s.Port, DependsOn: s.SidecarsFirst,
		Readiness: s.Readiness, Liveness: s.Liveness, Resources: s.Resources, Volumes: s.Volumes, Publish: s.Publish,
		Process: s.Process,
	}
}

// Members are the containers of one replica: inits in their order, the main
// container, sidecars.
func (s *Service) Members() []Member {
	all := make([]Member, 0, len(s.Inits)+len(s.Sidecars)+1)
	for _, m := range s.Inits {
		m.Role = RoleInit
		all = append(all, m)
	}
	all = append(all, s.Main())
	for _, m := range s.Sidecars {
		m.Role = RoleSidecar
		all = append(all, m)
	}
	return all
}

// Group reports whether a replica is more than one container.
func (s *Service) Group() bool { return len(s.Inits)+len(s.Sidecars) > 0 }

// SecretRefs are all values of the vault that the service names.
func (s *Service) SecretRefs() []SecretRef {
	var refs []SecretRef
	for _, m := range s.Members() {
		for _, e := range m.Env {
			if e.Secret.Key != "" {
				refs = append(refs, e.Secret)
			}
		}
		for _, f := range m.Files {
			refs = append(refs, f.Secret)
		}
	}
	return refs
}

// WithSecretVersions is a copy of the service whose references to the vault say
// which version they mean. What version says is 0 for stays without one.
func (s Service) WithSecretVersions(version func(SecretRef) int64) Service {
	stamp := func(env []EnvVar, p *Process) []EnvVar {
		env = slices.Clone(env)
		for i := range env {
			if env[i].Secret.Key != "" {
				env[i].Secret.Version = version(env[i].Secret)
			}
		}
		p.Files = slices.Clone(p.Files)
		for i := range p.Files {
			p.Files[i].Secret.Version = version(p.Files[i].Secret)
		}
		return env
	}
	members := func(list []Member) []Member {
		list = slices.Clone(list)
		for i := range list {
			list[i].Env = stamp(list[i].Env, &list[i].Process)
		}
		return list
	}
	s.Env = stamp(s.Env, &s.Process)
	s.Inits, s.Sidecars = members(s.Inits), members(s.Sidecars)
	return s
}
