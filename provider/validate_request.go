package provider

import (
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/secrets"
)

// Validate holds the request against every rule that does not depend on the
// provider: those of ValidateServices, that no two containers may write one volume unless it is
// Shared, and that volumes with ids are those of a tenant's stateful set, enough for its replicas. All that is wrong is in one *ValidationError.
func (r ProvisionRequest) Validate() error {
	var p problems
	if r.InstanceID.IsNil() {
		p.add("instance_id", "is missing")
	}
	validateTenant(&p, r.TenantID)
	switch r.Kind {
	case "", KindDeployment, KindStatefulSet:
	default:
		p.add("kind", "%q is neither %s nor %s", r.Kind, KindDeployment, KindStatefulSet)
	}
	if r.Name != "" || r.Network != "" {
		validateLabel(&p, "name", r.Name, MaxServiceNameLength)
	}
	r.validateStatefulName(&p)
	if r.Network != "" {
		validateLabelName(&p, "network", r.Network)
	}
	validateLabels(&p, "labels", r.Labels)
	r.Rollout.validate(&p, "rollout")
	validateServices(&p, r.Services)
	validateWriters(&p, r.Kind, r.Services)
	validateKept(&p, r.Kind, r.Services)
	if r.TenantID == "" && hasVolumeIDs(r.Services) {
		p.add("tenant_id", "is missing, and volumes with ids are a tenant's")
	}
	return p.err()
}

// validateStatefulName leaves room for the number of a replica behind the name that it
// is resolved by.
func (r ProvisionRequest) validateStatefulName(p *problems) {
	if r.Kind != KindStatefulSet {
		return
	}
	where, name := "name", r.Name
	for i, s := range r.Services {
		if r.Name == "" && s.EffectiveRole() == RoleMain {
			where, name = at("services", i)+".name", s.Name
		}
	}
	if len(name) > MaxStatefulNameLength && len(name) <= MaxServiceNameLength {
		p.add(where, "%q has more than %d characters, behind which the number of a replica has to fit", clip(name), MaxStatefulNameLength)
	}
}

// Validate holds the request against the rules for the services that it lists.
// Those for the group as a whole need the other services too: ApplyDeploy.
func (r DeployRequest) Validate() error {
	var p problems
	if r.InstanceID.IsNil() {
		p.add("instance_id", "is missing")
	}
	if r.ReleaseID.IsNil() {
		p.add("release_id", "is missing")
	}
	switch r.Strategy {
	case "", StrategyBlueGreen, StrategyRolling, StrategyRecreate, StrategyCanary:
	default:
		p.add("strategy", "%q is not one of %s, %s, %s, %s", r.Strategy, StrategyBlueGreen, StrategyRolling, StrategyRecreate, StrategyCanary)
	}
	r.Rollout.validate(&p, "rollout")
	if len(r.Services) == 0 {
		p.add("services", "is empty; list the services that change")
	}
	if len(r.Services) > MaxServices {
		p.add("services", "lists %d services, the most is %d", len(r.Services), MaxServices)
		return p.err()
	}
	seen := map[string]bool{}
	services := make([]ServiceSpec, len(r.Services))
	for i, d := range r.Services {
		if seen[d.Name] {
			p.add(at("services", i)+".name", "%q is listed twice", clip(d.Name))
		}
		seen[d.Name] = true
		services[i] = d.Apply(ServiceSpec{Name: d.Name})
	}
	if validateLengths(&p, services) {
		for i, s := range services {
			validateService(&p, at("services", i), s, len(s.Ports) == 0)
		}
	}
	return p.err()
}

// ApplyDeploy is the services of a workload with a deploy in force: validated as a
// whole, but for what a tenant has to be there for, and sharing nothing with the arguments. A service that the workload does not
// have is ErrInvalid, as everything else that is wrong.
func ApplyDeploy(kind WorkloadKind, services []ServiceSpec, deploys []ServiceDeploySpec) ([]ServiceSpec, error) {
	out := CloneServices(services)
	index := map[string]int{}
	for i, s := range services {
		index[s.Name] = i
	}
	var p problems
	for i, d := range deploys {
		j, known := index[d.Name]
		if !known {
			p.add(at("services", i)+".name", "the workload has no service %q", d.Name)
			continue
		}
		out[j] = d.Apply(out[j])
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	validateServices(&p, out)
	validateWriters(&p, kind, out)
	validateKept(&p, kind, out)
	validateMoves(&p, services, out)
	if err := p.err(); err != nil {
		return nil, err
	}
	return out, nil
}

// validate is about a RolloutSpec that may be nil.
func (r *RolloutSpec) validate(p *problems, where string) {
	if r == nil {
		return
	}
	surge := bound(p, where+".max_surge", r.MaxSurge, DefaultMaxSurge)
	unavailable := bound(p, where+".max_unavailable", r.MaxUnavailable, DefaultMaxUnavailable)
	if surge == 0 && unavailable == 0 {
		p.add(where, "max_surge and max_unavailable are both 0; nothing could move")
	}
	notNegative(p, where+".ready_timeout", r.ReadyTimeout)
	notNegative(p, where+".stable_window", r.StableWindow)
}

// bound is what v says of a hundred groups, and -1 when it says nothing.
func bound(p *problems, where string, v, fallback IntOrPercent) int {
	if v == "" {
		v = fallback
	}
	n, err := v.Of(100, true)
	if err != nil {
		p.add(where, "%q is neither a number from 0 to %d nor a share from 0%% to %d%%", string(v), maxCount, maxPercent)
		return -1
	}
	return n
}

// validateTenant lets an empty tenant pass: it owns no secrets, and vaults refuse it.
func validateTenant(p *problems, tenant string) {
	if tenant != "" && secrets.CheckTenant(tenant) != nil {
		p.add("tenant_id", "%q is no name of a tenant: letters, digits and ._-:@, at most %d of them", clip(tenant), secrets.MaxTenantBytes)
	}
}

// ReservedLabelPrefix begins the labels that providers set themselves.
const ReservedLabelPrefix = "berth."

// Bounds of labels and annotations, in bytes.
const (
	maxLabelKey   = 253
	maxLabelValue = 4096
)

func validateLabels(p *problems, where string, labels map[string]string) {
	for _, key := range sortedKeys(labels) {
		path := fmt.Sprintf("%s[%q]", where, clip(key))
		switch {
		case key == "" || len(key) > maxLabelKey || !printable(key) || strings.ContainsAny(key, " =,\"'"):
			p.add(path, "is no good key: 1 to %d printable characters without spaces, quotes, commas and =", maxLabelKey)
		case strings.HasPrefix(key, ReservedLabelPrefix):
			p.add(path, "keys that begin with %s are taken", ReservedLabelPrefix)
		case len(labels[key]) > maxLabelValue || !printable(labels[key]):
			p.add(path, "its value is not at most %d printable characters", maxLabelValue)
		}
	}
}

// printable reports whether s is ASCII from space to tilde.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// clip keeps a message about a long text short.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
