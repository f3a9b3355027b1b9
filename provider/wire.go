package provider

import "time"

// wireDeploySpec is ServiceDeploySpec with the other meaning of an empty field; the
// compiler holds the two together.
type wireDeploySpec struct {
	Name        string            `json:"name" validate:"required"`
	Image       string            `json:"image" validate:"required"`
	Env         map[string]string `json:"env,omitzero"`
	HealthCheck *HealthCheckSpec  `json:"health_check,omitzero"`
	Command     []string          `json:"command,omitzero"`
	Args        []string          `json:"args,omitzero"`
	Ports       []PortSpec        `json:"ports,omitzero"`
	Resources   *ResourceSpec     `json:"resources,omitzero"`
	Volumes     []VolumeSpec      `json:"volumes,omitzero"`
	Secrets     []SecretRef       `json:"secrets,omitzero"`
	ConfigFiles []ConfigFile      `json:"config_files,omitzero"`
	Annotations map[string]string `json:"annotations,omitzero"`
	Liveness    *HealthCheckSpec  `json:"liveness,omitzero"`
	Security    *SecuritySpec     `json:"security,omitzero"`
	User        *string           `json:"user,omitzero"`
	WorkingDir  *string           `json:"working_dir,omitzero"`
	Tmpfs       []TmpfsSpec       `json:"tmpfs,omitzero"`
	Init        *bool             `json:"init,omitzero"`
	StopGrace   *time.Duration    `json:"stop_grace,omitzero"`
	StopSignal  *string           `json:"stop_signal,omitzero"`
}

// wireSnapshot is to ServiceSnapshot what wireDeploySpec is to ServiceDeploySpec.
type wireSnapshot struct {
	Name        string            `json:"name"`
	Image       string            `json:"image"`
	Env         map[string]string `json:"env,omitzero"`
	HealthCheck *HealthCheckSpec  `json:"health_check,omitzero"`
	Command     []string          `json:"command,omitzero"`
	Args        []string          `json:"args,omitzero"`
	Ports       []PortSpec        `json:"ports,omitzero"`
	Resources   *ResourceSpec     `json:"resources,omitzero"`
	Volumes     []VolumeSpec      `json:"volumes,omitzero"`
	Secrets     []SecretRef       `json:"secrets,omitzero"`
	ConfigFiles []ConfigFile      `json:"config_files,omitzero"`
	Annotations map[string]string `json:"annotations,omitzero"`
	Liveness    *HealthCheckSpec  `json:"liveness,omitzero"`
	Security    *SecuritySpec     `json:"security,omitzero"`
	User        *string           `json:"user,omitzero"`
	WorkingDir  *string           `json:"working_dir,omitzero"`
	Tmpfs       []TmpfsSpec       `json:"tmpfs,omitzero"`
	Init        *bool             `json:"init,omitzero"`
	StopGrace   *time.Duration    `json:"stop_grace,omitzero"`
	StopSignal  *string           `json:"stop_signal,omitzero"`
}
