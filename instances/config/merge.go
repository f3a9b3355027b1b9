package config

import (
	"fmt"
	"maps"
	"slices"
)

// MergeRequest names a group and what one machine has other than the group.
// What is empty overrides nothing.
type MergeRequest struct {
	Tenant       string
	Group        string
	Template     string
	InstanceType string
	SubnetPool   string
	Vars         map[string]string
	Args         map[string]any
}

// MergedConfig is what one machine is made of. It shares nothing with the
// configuration, and is kept in the machine's record.
type MergedConfig struct {
	Tenant       string            `json:"tenant"`
	Group        string            `json:"group"`
	Template     string            `json:"template"`
	Kind         string            `json:"kind"`
	Arch         string            `json:"arch"`
	Size         int               `json:"size"` // the group's
	InstanceType string            `json:"instance_type,omitempty"`
	SubnetPool   string            `json:"subnet_pool,omitempty"`
	Args         map[string]any    `json:"args,omitempty"`
	Vars         map[string]string `json:"vars,omitempty"`
	Userdata     *Userdata         `json:"userdata,omitempty"`
	DrainTimeout Duration          `json:"drain_timeout"` // 0 is no drain

	RequiredImages  []string `json:"required_images,omitempty"`
	RequiredVars    []string `json:"required_vars,omitempty"`
	RequiredSecrets []string `json:"required_secrets,omitempty"`

	// RuntimeHash and InfraHash are the group's, without the request: a machine
	// with overrides of its own drifts when its group changes, and not for being
	// what was asked for.
	RuntimeHash string `json:"runtime_hash"`
	InfraHash   string `json:"infra_hash"`
}

// Clone is a copy that shares nothing.
func (m *MergedConfig) Clone() *MergedConfig {
	c := *m
	c.Args, c.Vars, c.Userdata = cloneArgs(m.Args), maps.Clone(m.Vars), clonePointer(m.Userdata)
	c.RequiredImages = slices.Clone(m.RequiredImages)
	c.RequiredVars = slices.Clone(m.RequiredVars)
	c.RequiredSecrets = slices.Clone(m.RequiredSecrets)
	return &c
}

// MissingVars are the variables that the template requires and nobody set, in
// order.
func (m *MergedConfig) MissingVars() []string {
	var missing []string
	for _, name := range m.RequiredVars {
		if _, ok := m.Vars[name]; !ok {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

// Overridden reports whether the request made the machine other than its group's.
func (m *MergedConfig) Overridden() bool {
	return HashInfra(m) != m.InfraHash || HashRuntime(m) != m.RuntimeHash
}

// Merge is what a machine of a group is made of: the defaults, on them the
// template, the group and the request. Errors: ErrGroupNotFound,
// ErrTemplateNotFound, and ErrInvalid for a request that breaks a rule.
func (c *Config) Merge(req MergeRequest) (*MergedConfig, error) {
	key := GroupKey{req.Tenant, req.Group}
	group, ok := c.Groups.get(key)
	if !ok {
		return nil, notFound(key)
	}
	args, err := normalArgs(req.Args)
	if err != nil {
		return nil, fmt.Errorf("merge for group %s of %s: %w", key.Group, key.Tenant, err)
	}
	own, err := c.layer(key, group, group.Template)
	if err != nil {
		return nil, err
	}
	merged := own
	if req.Template != "" && req.Template != group.Template {
		if merged, err = c.layer(key, group, req.Template); err != nil {
			return nil, err
		}
	}
	runtime, infra := HashRuntime(own), HashInfra(own)
	if err := c.override(merged, req, args); err != nil {
		return nil, err
	}
	merged.RuntimeHash, merged.InfraHash = runtime, infra
	return merged, nil
}

// layer merges all but the request.
func (c *Config) layer(key GroupKey, group Group, template string) (*MergedConfig, error) {
	t, ok := c.Templates[template]
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrTemplateNotFound, clip(template))
	}
	m := &MergedConfig{
		Tenant: key.Tenant, Group: key.Group, Template: template,
		Kind: t.Kind, Arch: t.Arch, Size: 1,
		InstanceType: first(group.InstanceType, t.InstanceType),
		SubnetPool:   first(group.SubnetPool, t.SubnetPool),
		Args:         mergeArgs(mergeArgs(c.Defaults.Args, t.Args), group.Args),
		Vars:         mergeVars(mergeVars(c.Defaults.Vars, t.Vars), group.Vars),
		Userdata:     clonePointer(t.Userdata),
		DrainTimeout: c.Shard.Timings.DefaultDrainTimeout,

		RequiredImages:  slices.Clone(t.RequiredImages),
		RequiredVars:    slices.Clone(t.RequiredVars),
		RequiredSecrets: slices.Clone(t.RequiredSecrets),
	}
	if m.Userdata == nil {
		m.Userdata = clonePointer(c.Defaults.Userdata)
	}
	for _, size := range []*int{t.Size, group.Size} {
		if size != nil {
			m.Size = *size
		}
	}
	if group.DrainTimeout != nil {
		m.DrainTimeout = *group.DrainTimeout
	}
	return m, nil
}

// override puts a request on top.
func (c *Config) override(m *MergedConfig, req MergeRequest, args map[string]any) error {
	k := &checker{}
	k.vars("vars", req.Vars)
	if req.SubnetPool != "" {
		k.pool("subnet_pool", req.SubnetPool, c.Shard.SubnetPools)
	}
	k.word("instance_type", req.InstanceType)
	if err := k.errors("request"); err != nil {
		return err
	}
	m.InstanceType = first(req.InstanceType, m.InstanceType)
	m.SubnetPool = first(req.SubnetPool, m.SubnetPool)
	m.Args, m.Vars = mergeArgs(m.Args, args), mergeVars(m.Vars, req.Vars)
	return nil
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func notFound(key GroupKey) error {
	return fmt.Errorf("%w: %q of tenant %q", ErrGroupNotFound, clip(key.Group), clip(key.Tenant))
}
