package manifest

import "github.com/berth-cloud/berth/provider"

// Change is the workload for a provider that runs another one under its name: every
// part of the service is replaced, also by nothing, so that what the old document
// said and the new one does not is gone.
func (w Workload) Change() []provider.ServiceDeploySpec {
	out := make([]provider.ServiceDeploySpec, 0, len(w.Request.Services))
	for _, s := range w.Request.Services {
		check := provider.HealthCheckSpec{} // which is none, where nil would keep
		if s.HealthCheck != nil {
			check = *s.HealthCheck
		}
		resources := s.Resources
		empty := ""
		out = append(out, provider.ServiceDeploySpec{
			Name: s.Name, Image: s.Image,
			Env: orEmptyMap(s.Env), Annotations: orEmptyMap(s.Annotations),
			HealthCheck: &check, Liveness: &provider.HealthCheckSpec{},
			Command: orEmpty(s.Command), Args: orEmpty(s.Args),
			Ports: orEmpty(s.Ports), Volumes: orEmpty(s.Volumes), Tmpfs: orEmpty(s.Tmpfs),
			Secrets: []provider.SecretRef{}, ConfigFiles: []provider.ConfigFile{},
			Resources: &resources, Security: hardened(),
			User: &s.User, WorkingDir: &empty, Init: &s.Init, StopGrace: &s.StopGrace, StopSignal: &empty,
		})
	}
	return out
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func orEmptyMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
