package provider

import (
	"maps"
	"slices"
)

// Clone copies s with everything that it points to.
func (s ServiceSpec) Clone() ServiceSpec {
	s.DependsOn = slices.Clone(s.DependsOn)
	s.Env = maps.Clone(s.Env)
	s.Ports = clonePorts(s.Ports)
	s.Volumes = cloneVolumes(s.Volumes)
	s.HealthCheck = s.HealthCheck.clone()
	s.Secrets = slices.Clone(s.Secrets)
	s.ConfigFiles = slices.Clone(s.ConfigFiles)
	s.Annotations = maps.Clone(s.Annotations)
	s.Command = slices.Clone(s.Command)
	s.Args = slices.Clone(s.Args)
	s.Liveness = s.Liveness.clone()
	s.Security = s.Security.clone()
	s.Tmpfs = slices.Clone(s.Tmpfs)
	return s
}

// CloneServices copies a list with everything that it points to.
func CloneServices(services []ServiceSpec) []ServiceSpec {
	out := slices.Clone(services)
	for i := range out {
		out[i] = out[i].Clone()
	}
	return out
}

// clone copies d with everything that it points to. Inside a field nil and empty
// are the same, and become nil.
func (d ServiceDeploySpec) clone() ServiceDeploySpec {
	d.Env = maps.Clone(d.Env)
	d.HealthCheck = d.HealthCheck.clone()
	d.Command = slices.Clone(d.Command)
	d.Args = slices.Clone(d.Args)
	d.Ports = clonePorts(d.Ports)
	d.Resources = clonePointer(d.Resources)
	d.Volumes = cloneVolumes(d.Volumes)
	d.Secrets = slices.Clone(d.Secrets)
	d.ConfigFiles = slices.Clone(d.ConfigFiles)
	d.Annotations = maps.Clone(d.Annotations)
	d.Liveness = d.Liveness.clone()
	d.Security = d.Security.clone()
	d.User = clonePointer(d.User)
	d.WorkingDir = clonePointer(d.WorkingDir)
	d.Tmpfs = slices.Clone(d.Tmpfs)
	d.Init = clonePointer(d.Init)
	d.StopGrace = clonePointer(d.StopGrace)
	d.StopSignal = clonePointer(d.StopSignal)
	return d
}

func (h *HealthCheckSpec) clone() *HealthCheckSpec {
	h = clonePointer(h)
	if h != nil {
		h.Exec = nilWhenEmpty(slices.Clone(h.Exec))
		h.GRPC = clonePointer(h.GRPC)
	}
	return h
}

func (s *SecuritySpec) clone() *SecuritySpec {
	s = clonePointer(s)
	if s != nil {
		s.CapAdd = nilWhenEmpty(slices.Clone(s.CapAdd))
		s.CapDrop = nilWhenEmpty(slices.Clone(s.CapDrop))
		s.NoNewPrivileges = clonePointer(s.NoNewPrivileges)
	}
	return s
}

func clonePorts(ports []PortSpec) []PortSpec {
	out := slices.Clone(ports)
	for i := range out {
		out[i].Domains = nilWhenEmpty(slices.Clone(out[i].Domains))
		out[i].TLS = clonePointer(out[i].TLS)
	}
	return out
}

func cloneVolumes(volumes []VolumeSpec) []VolumeSpec {
	out := slices.Clone(volumes)
	for i := range out {
		out[i].IDs = nilWhenEmpty(slices.Clone(out[i].IDs))
	}
	return out
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// normal makes slices and maps that hold nothing nil, which in a ServiceSpec is
// the same.
func (s ServiceSpec) normal() ServiceSpec {
	s.DependsOn = nilWhenEmpty(s.DependsOn)
	s.Ports = nilWhenEmpty(s.Ports)
	s.Volumes = nilWhenEmpty(s.Volumes)
	s.Secrets = nilWhenEmpty(s.Secrets)
	s.ConfigFiles = nilWhenEmpty(s.ConfigFiles)
	s.Command = nilWhenEmpty(s.Command)
	s.Args = nilWhenEmpty(s.Args)
	s.Tmpfs = nilWhenEmpty(s.Tmpfs)
	if len(s.Env) == 0 {
		s.Env = nil
	}
	if len(s.Annotations) == 0 {
		s.Annotations = nil
	}
	return s
}

func nilWhenEmpty[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}
