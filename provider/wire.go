package provider

import "time"

// wireDeploySpec is ServiceDeploySpec with an encoding that keeps empty slices and
// maps. (On a pointer omitempty keeps what omitzero drops: one to a zero value.) The compiler holds the two
// together.
type wireDeploySpec struct {
	Name        string            `json:"name" validate:"required"`
	Image       string            `json:"image" validate:"required"`
	Env         map[string]string `json:"env,omitzero"`
	HealthCheck *HealthCheckSpec  `json:"health_check,omitempty"`
	Command     []string          `json:"command,omitzero"`
	Args        []string          `json:"args,omitzero"`
	Ports       []PortSpec        `json:"ports,omitzero"`
	Resources   *ResourceSpec     `json:"resources,omitempty"`
	Volumes     []VolumeSpec      `json:"volumes,omitzero"`
	Secrets     []SecretRef       `json:"secrets,omitzero"`
	ConfigFiles []ConfigFile      `json:"config_files,omitzero"`
	Annotations map[string]string `json:"annotations,omitzero"`
	Liveness    *HealthCheckSpec  `json:"liveness,omitempty"`
	Security    *SecuritySpec     `json:"security,omitempty"`
	User        *string           `json:"user,omitempty"`
	WorkingDir  *string           `json:"working_dir,omitempty"`
	Tmpfs       []TmpfsSpec       `json:"tmpfs,omitzero"`
	Init        *bool             `json:"init,omitempty"`
	StopGrace   *time.Duration    `json:"stop_grace,omitempty"`
	StopSignal  *string           `json:"stop_signal,omitempty"`
}

// wireSnapshot is to ServiceSnapshot what wireDeploySpec is to ServiceDeploySpec.
type wireSnapshot struct {
	Name        string            `json:"name"`
	Image       string            `json:"image"`
	Env         map[string]string `json:"env,omitzero"`
	HealthCheck *HealthCheckSpec  `json:"health_check,omitempty"`
	Command     []string          `json:"command,omitzero"`
	Args        []string          `json:"args,omitzero"`
	Ports       []PortSpec        `json:"ports,omitzero"`
	Resources   *ResourceSpec     `json:"resources,omitempty"`
	Volumes     []VolumeSpec      `json:"volumes,omitzero"`
	Secrets     []SecretRef       `json:"secrets,omitzero"`
	ConfigFiles []ConfigFile      `json:"config_files,omitzero"`
	Annotations map[string]string `json:"annotations,omitzero"`
	Liveness    *HealthCheckSpec  `json:"liveness,omitempty"`
	Security    *SecuritySpec     `json:"security,omitempty"`
	User        *string           `json:"user,omitempty"`
	WorkingDir  *string           `json:"working_dir,omitempty"`
	Tmpfs       []TmpfsSpec       `json:"tmpfs,omitzero"`
	Init        *bool             `json:"init,omitempty"`
	StopGrace   *time.Duration    `json:"stop_grace,omitempty"`
	StopSignal  *string           `json:"stop_signal,omitempty"`
}
