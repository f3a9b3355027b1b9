package config

import (
	"fmt"
	"slices"
)

// WithDynamic is the configuration with dynamic groups put over those of its
// text, or [*Errors] with all that does not go together. The configuration
// itself does not change.
//
// Of a group of the text a dynamic one changes size, instance_type and vars. A
// group that only the dynamic ones have is free to say everything, needs a
// template, and is kept to the pools in dynamic_subnet_pools.
func (c *Config) WithDynamic(dynamic Groups) (*Config, error) {
	with := *c
	with.Groups = Groups{}
	for key, g := range c.static {
		with.Groups.set(key, g.Clone())
	}
	k := &checker{}
	for key, over := range dynamic.all() {
		path := key.Tenant + "." + key.Group
		k.key(path, key)
		k.groupValues(path, over)
		if below, ok := c.static[key]; ok {
			k.overStatic(path, over)
			with.Groups.set(key, overlay(below, over))
			continue
		}
		k.group(path, over, c)
		k.dynamicPool(path, over, c)
		with.Groups.set(key, over.Clone())
	}
	if err := k.errors("dynamic groups"); err != nil {
		return nil, err
	}
	return &with, nil
}

// overStatic refuses what a group of the text keeps.
func (k *checker) overStatic(path string, over Group) {
	if field := keptByStatic(over); field != "" {
		k.bad(path+"."+field, "this group is one of the configuration's text, of which only size, instance_type and vars are changed here")
	}
}

// keptByStatic names a field that may not be set over a group of the text.
func keptByStatic(over Group) string {
	switch {
	case over.Template != "":
		return "template"
	case over.SubnetPool != "":
		return "subnet_pool"
	case over.Args != nil:
		return "args"
	case over.DrainTimeout != nil:
		return "drain_timeout"
	}
	return ""
}

func (k *checker) dynamicPool(path string, g Group, c *Config) {
	allowed := c.Shard.DynamicSubnetPools
	pool := first(g.SubnetPool, c.Templates[g.Template].SubnetPool)
	if allowed != nil && pool != "" && !slices.Contains(allowed, pool) {
		k.bad(path+".subnet_pool", "the pool %q is not for dynamic groups; those are %v", clip(pool), allowed)
	}
}

// overlay puts what one group says over another: what it does not say stays, so
// that a variable can be changed and not taken away.
func overlay(base, over Group) Group {
	g := base.Clone()
	over = over.Clone()
	g.Template = first(over.Template, g.Template)
	g.InstanceType = first(over.InstanceType, g.InstanceType)
	g.SubnetPool = first(over.SubnetPool, g.SubnetPool)
	g.Args, g.Vars = mergeArgs(g.Args, over.Args), mergeVars(g.Vars, over.Vars)
	if over.Size != nil {
		g.Size = over.Size
	}
	if over.DrainTimeout != nil {
		g.DrainTimeout = over.DrainTimeout
	}
	return g
}

// upserted are dynamic groups with one of them changed.
func (c *Config) upserted(dynamic Groups, key GroupKey, change Group) (Groups, error) {
	if c.Static(key) {
		if field := keptByStatic(change); field != "" {
			return nil, fmt.Errorf("%w: %s of group %q of tenant %q, which is one of the configuration's text", ErrRefused, field, clip(key.Group), clip(key.Tenant))
		}
	}
	args, err := normalArgs(change.Args)
	if err != nil {
		return nil, err
	}
	change.Args = args
	changed := dynamic.clone()
	before, _ := changed.get(key)
	changed.set(key, overlay(before, change))
	return changed, nil
}

// deleted are dynamic groups without one of them.
func (c *Config) deleted(dynamic Groups, key GroupKey) (Groups, error) {
	if c.Static(key) {
		return nil, fmt.Errorf("%w: group %q of tenant %q is one of the configuration's text; take it out there", ErrRefused, clip(key.Group), clip(key.Tenant))
	}
	if _, ok := dynamic.get(key); !ok {
		return nil, notFound(key)
	}
	changed := dynamic.clone()
	delete(changed[key.Tenant], key.Group)
	if len(changed[key.Tenant]) == 0 {
		delete(changed, key.Tenant)
	}
	return changed, nil
}
