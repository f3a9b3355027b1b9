package provider

import (
	"encoding/json"
	"slices"
)

// Snapshot is the service in the release that d makes on top of prior, the
// service's snapshot in the release before, or nil. What d leaves nil is prior's, with
// Resources.Replicas where that is zero. The result shares nothing with either.
func (d ServiceDeploySpec) Snapshot(prior *ServiceSnapshot) ServiceSnapshot {
	next := ServiceSnapshot(d.clone())
	if prior == nil {
		return next
	}
	old := ServiceSnapshot(ServiceDeploySpec(*prior).clone())
	if next.Image == "" {
		next.Image = old.Image
	}
	next.Env = or(next.Env, old.Env)
	next.HealthCheck = orPointer(next.HealthCheck, old.HealthCheck)
	next.Command = orSlice(next.Command, old.Command)
	next.Args = orSlice(next.Args, old.Args)
	next.Ports = orSlice(next.Ports, old.Ports)
	if next.Resources != nil && next.Resources.Replicas == 0 && old.Resources != nil {
		next.Resources.Replicas = old.Resources.Replicas
	}
	next.Resources = orPointer(next.Resources, old.Resources)
	next.Volumes = orSlice(next.Volumes, old.Volumes)
	next.Secrets = orSlice(next.Secrets, old.Secrets)
	next.ConfigFiles = orSlice(next.ConfigFiles, old.ConfigFiles)
	next.Annotations = or(next.Annotations, old.Annotations)
	next.Liveness = orPointer(next.Liveness, old.Liveness)
	next.Security = orPointer(next.Security, old.Security)
	next.User = orPointer(next.User, old.User)
	next.WorkingDir = orPointer(next.WorkingDir, old.WorkingDir)
	next.Tmpfs = orSlice(next.Tmpfs, old.Tmpfs)
	next.Init = orPointer(next.Init, old.Init)
	next.StopGrace = orPointer(next.StopGrace, old.StopGrace)
	next.StopSignal = orPointer(next.StopSignal, old.StopSignal)
	return next
}

// DeploySpec is the deploy that restores s. It shares nothing with s.
func (s ServiceSnapshot) DeploySpec() ServiceDeploySpec { return ServiceDeploySpec(s).clone() }

// SnapshotOf records a service as it was provisioned: every field, so that a
// rollback also takes back what a later release added. Only a zero ResourceSpec stays
// out, because restoring it would take the limits off a service that runs. It
// shares nothing with svc.
func SnapshotOf(svc ServiceSpec) ServiceSnapshot {
	svc = svc.Clone()
	s := ServiceSnapshot{
		Name: svc.Name, Image: svc.Image, Env: svc.Env, Command: svc.Command, Args: svc.Args, Ports: svc.Ports,
		HealthCheck: svc.HealthCheck, Volumes: svc.Volumes, Secrets: svc.Secrets, ConfigFiles: svc.ConfigFiles,
		Annotations: svc.Annotations, Liveness: svc.Liveness, Security: svc.Security, User: &svc.User,
		WorkingDir: &svc.WorkingDir, Tmpfs: svc.Tmpfs, Init: &svc.Init, StopGrace: &svc.StopGrace, StopSignal: &svc.StopSignal,
	}
	if !svc.Resources.IsZero() {
		s.Resources = &svc.Resources
	}
	nothing := ServiceDeploySpec{
		Env: map[string]string{}, Command: []string{}, Args: []string{}, Ports: []PortSpec{}, HealthCheck: &HealthCheckSpec{},
		Volumes: []VolumeSpec{}, Secrets: []SecretRef{}, ConfigFiles: []ConfigFile{}, Annotations: map[string]string{},
		Liveness: &HealthCheckSpec{}, Security: &SecuritySpec{}, Tmpfs: []TmpfsSpec{},
	}
	none := ServiceSnapshot(nothing)
	return ServiceDeploySpec(s).Snapshot(&none)
}

// Apply is the service with d in force: what a driver runs from then on. Name,
// Role and DependsOn are svc's. It shares nothing with either.
func (d ServiceDeploySpec) Apply(svc ServiceSpec) ServiceSpec {
	prior := SnapshotOf(svc)
	next := d.Snapshot(&prior)
	out := ServiceSpec{
		Name: svc.Name, Image: next.Image, Role: svc.Role, DependsOn: slices.Clone(svc.DependsOn), Env: next.Env, Ports: next.Ports,
		Volumes: next.Volumes, Secrets: next.Secrets, ConfigFiles: next.ConfigFiles, Annotations: next.Annotations,
		Command: next.Command, Args: next.Args, Tmpfs: next.Tmpfs, User: *next.User, WorkingDir: *next.WorkingDir,
		Init: *next.Init, StopGrace: *next.StopGrace, StopSignal: *next.StopSignal,
	}
	if next.Resources != nil {
		out.Resources = *next.Resources
	}
	if !next.HealthCheck.IsZero() {
		out.HealthCheck = next.HealthCheck
	}
	if !next.Liveness.IsZero() {
		out.Liveness = next.Liveness
	}
	if !next.Security.IsZero() {
		out.Security = next.Security
	}
	return out.normal()
}

// MarshalJSON keeps an empty field, which replaces by nothing, apart from an
// absent one, which keeps.
func (d ServiceDeploySpec) MarshalJSON() ([]byte, error) { return json.Marshal(wireDeploySpec(d)) }

// MarshalJSON keeps an empty field, which was recorded as nothing, apart from an
// absent one, which was not recorded.
func (s ServiceSnapshot) MarshalJSON() ([]byte, error) { return json.Marshal(wireSnapshot(s)) }

func or[K comparable, V any](a, b map[K]V) map[K]V {
	if a != nil {
		return a
	}
	return b
}

func orSlice[T any](a, b []T) []T {
	if a != nil {
		return a
	}
	return b
}

func orPointer[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
