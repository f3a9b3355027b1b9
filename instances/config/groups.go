package config

import (
	"iter"
	"maps"
	"slices"
)

// all are the groups in the order of their names.
func (g Groups) all() iter.Seq2[GroupKey, Group] {
	return func(yield func(GroupKey, Group) bool) {
		for _, tenant := range slices.Sorted(maps.Keys(g)) {
			for _, name := range slices.Sorted(maps.Keys(g[tenant])) {
				if !yield(GroupKey{tenant, name}, g[tenant][name]) {
					return
				}
			}
		}
	}
}

// set is called on a Groups of one's own.
func (g Groups) set(key GroupKey, group Group) {
	if g[key.Tenant] == nil {
		g[key.Tenant] = map[string]Group{}
	}
	g[key.Tenant][key.Group] = group
}

func (g Groups) get(key GroupKey) (Group, bool) {
	group, ok := g[key.Tenant][key.Group]
	return group, ok
}

// clone is a copy that shares nothing.
func (g Groups) clone() Groups {
	copied := Groups{}
	for key, group := range g.all() {
		copied.set(key, group.Clone())
	}
	return copied
}

// Clone is a copy that shares nothing.
func (g Group) Clone() Group {
	g.Args, g.Vars = cloneArgs(g.Args), maps.Clone(g.Vars)
	g.Size, g.DrainTimeout = clonePointer(g.Size), clonePointer(g.DrainTimeout)
	return g
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

// GroupKeys are the names of all groups, in order.
func (c *Config) GroupKeys() []GroupKey {
	var keys []GroupKey
	for key := range c.Groups.all() {
		keys = append(keys, key)
	}
	return keys
}

// Group is a copy of a group, or ErrGroupNotFound.
func (c *Config) Group(key GroupKey) (Group, error) {
	g, ok := c.Groups.get(key)
	if !ok {
		return Group{}, notFound(key)
	}
	return g.Clone(), nil
}

// Static reports whether the text of the configuration has the group, so that
// it can be neither deleted nor given another template while the daemon runs.
func (c *Config) Static(key GroupKey) bool {
	_, ok := c.static[key]
	return ok
}
