package workloads

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/rollout"
	"github.com/berth-cloud/berth/secrets"
)

// pin fills in the newest version of every value that services name without one, so
// that a release restores its values too and a new value is a change.
func (s *Service) pin(ctx context.Context, services []provider.ServiceSpec) error {
	newest := map[string]secrets.Version{}
	asks := func(svc provider.ServiceSpec) bool {
		return len(svc.Secrets) > 0 || slices.ContainsFunc(svc.ConfigFiles, func(f provider.ConfigFile) bool { return f.Key != "" })
	}
	if s.cfg.Vault == nil || !slices.ContainsFunc(services, asks) {
		return nil
	}
	kept, err := s.cfg.Vault.List(ctx, s.cfg.Tenant)
	if err != nil {
		return fmt.Errorf("list secrets: %w", err)
	}
	for _, m := range kept {
		newest[m.Key] = m.Version
	}
	for i := range services {
		for j := range services[i].Secrets {
			if ref := &services[i].Secrets[j]; ref.Version == 0 {
				ref.Version = newest[ref.Key]
			}
		}
		for j := range services[i].ConfigFiles {
			if f := &services[i].ConfigFiles[j]; f.Key != "" && f.Version == 0 {
				f.Version = newest[f.Key]
			}
		}
	}
	return nil
}

// wanted is what makes services what a file says, whatever they were: nothing is
// kept.
func (s *Service) wanted(r row, services []provider.ServiceSpec) []provider.ServiceDeploySpec {
	main := r.Shape.main()
	out := make([]provider.ServiceDeploySpec, len(services))
	for i, svc := range services {
		size := svc.Resources
		if svc.Name == main {
			size.Replicas = max(size.Replicas, 1)
		}
		out[i] = provider.SnapshotOf(svc).DeploySpec()
		out[i].Resources = &size
	}
	return out
}

// deploys are the deploys that restore services.
func deploys(services []provider.ServiceSnapshot) []provider.ServiceDeploySpec {
	out := make([]provider.ServiceDeploySpec, len(services))
	for i, svc := range services {
		out[i] = svc.DeploySpec()
	}
	return out
}

// compare finds the services that differ from a release, and in which fields. scaled
// is what the main service has of its size that the release does not say.
func (s *Service) compare(ctx context.Context, r row, release *rollout.Release, wanted []provider.ServiceDeploySpec, scaled provider.ResourceSpec) ([]provider.ServiceDeploySpec, []wire.WorkloadFieldChange, error) {
	have := map[string]provider.ServiceSnapshot{}
	for _, svc := range release.Services {
		have[svc.Name] = svc
	}
	main := r.Shape.main()
	var changed []provider.ServiceDeploySpec
	var changes []wire.WorkloadFieldChange
	for _, d := range wanted {
		prior := have[d.Name]
		if d.Name == main {
			size := over(*size(prior.Resources, true), scaled)
			prior.Resources = &size
		}
		known, err := s.sameFiles(ctx, prior.ConfigFiles, d.ConfigFiles)
		if err != nil {
			return nil, nil, err
		}
		seen := d
		seen.ConfigFiles = known
		fields := differing(prior, seen.Snapshot(&prior), d.Name == main)
		if len(fields) == 0 {
			continue
		}
		changed = append(changed, d)
		changes = append(changes, fields...)
	}
	return changed, changes, nil
}

// sameFiles puts the references of files that are there into the place of contents
// that are the same.
func (s *Service) sameFiles(ctx context.Context, have, want []provider.ConfigFile) ([]provider.ConfigFile, error) {
	if want == nil {
		return nil, nil
	}
	out := slices.Clone(want)
	for i := range out {
		f := &out[i]
		if f.Content == "" {
			continue
		}
		content := secrets.NewSecretString(f.Content)
		f.Content, f.Key = "", "" // one that is another differs by having no key
		at := slices.IndexFunc(have, func(o provider.ConfigFile) bool { return o.Name == f.Name && o.Key != "" })
		if at < 0 || s.cfg.Vault == nil {
			continue
		}
		held, _, err := s.cfg.Vault.Get(ctx, secrets.Ref{Tenant: s.cfg.Tenant, Key: have[at].Key}, have[at].Version)
		switch {
		case errors.Is(err, secrets.ErrNotFound):
		case err != nil:
			return nil, fmt.Errorf("read config file %s: %w", f.Name, err)
		case held.Equal(content):
			f.Key, f.Version = have[at].Key, have[at].Version
		}
	}
	return out, nil
}

// words are the keys of a workload file for fields of the contract.
var words = map[string]string{"health_check": "readiness"}

// differing lists the fields in which two states of a service differ.
func differing(a, b provider.ServiceSnapshot, main bool) []wire.WorkloadFieldChange {
	a.Resources, b.Resources = size(a.Resources, main), size(b.Resources, main)
	out := changes(b.Name, factsOf(a, main), factsOf(b, main))
	// What differs and no fact tells is named all the same.
	before, after := fields(a), fields(b)
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		word := cmp.Or(words[name], name)
		told := slices.ContainsFunc(out, func(c wire.WorkloadFieldChange) bool {
			key, _, _ := strings.Cut(c.Field, ".")
			key, _, _ = strings.Cut(key, "[")
			return key == word || key == "replicas" && word == "resources"
		})
		if !told && !bytes.Equal(before[name], after[name]) {
			out = append(out, wire.WorkloadFieldChange{Service: b.Name, Field: word, Old: wire.HiddenValue, New: wire.HiddenValue})
		}
	}
	return out
}

// changes lists how facts differ: those of the new state in their order, and then
// what is gone.
func changes(service string, before, after facts) []wire.WorkloadFieldChange {
	find := func(l facts, field string) (fact, bool) {
		i := slices.IndexFunc(l, func(f fact) bool { return f.field == field })
		if i < 0 {
			return fact{}, false
		}
		return l[i], true
	}
	var out []wire.WorkloadFieldChange
	for _, now := range after {
		old, had := find(before, now.field)
		switch {
		case !had:
			out = append(out, wire.WorkloadFieldChange{Service: service, Field: now.field, New: now.shown()})
		case old != now && old.shown() == now.shown():
			// They differ in what the texts leave out.
			out = append(out, wire.WorkloadFieldChange{Service: service, Field: now.field, Old: wire.HiddenValue, New: wire.HiddenValue})
		case old != now:
			out = append(out, wire.WorkloadFieldChange{Service: service, Field: now.field, Old: old.shown(), New: now.shown()})
		}
	}
	for _, old := range before {
		if _, has := find(after, old.field); !has {
			out = append(out, wire.WorkloadFieldChange{Service: service, Field: old.field, Old: old.shown()})
		}
	}
	return out
}

// size is a size with its defaults filled in.
func size(r *provider.ResourceSpec, main bool) *provider.ResourceSpec {
	var out provider.ResourceSpec
	if r != nil {
		out = *r
	}
	if out.Replicas = max(out.Replicas, 1); !main {
		out.Replicas = 0 // it has no meaning there
	}
	return &out
}

// fields are the fields of a service by their names in JSON, without those that
// say nothing.
func fields(svc provider.ServiceSnapshot) map[string]json.RawMessage {
	text, err := json.Marshal(svc)
	out := map[string]json.RawMessage{}
	if err != nil || json.Unmarshal(text, &out) != nil {
		return out
	}
	delete(out, "name")
	for name, value := range out {
		switch string(value) {
		case "null", "{}", "[]", `""`, "0", "false":
			delete(out, name)
		}
	}
	return out
}

// created are the changes of a workload that is new: how releases take over, and all
// that its services say.
func created(services []provider.ServiceSpec, strategy string) []wire.WorkloadFieldChange {
	out := []wire.WorkloadFieldChange{{Field: "rollout.strategy", New: cmp.Or(strategy, "the provider's choice")}}
	for _, svc := range services {
		role := svc.EffectiveRole()
		add := func(field, text string) {
			if text != "" {
				out = append(out, wire.WorkloadFieldChange{Service: svc.Name, Field: field, New: text})
			}
		}
		for i, f := range factsOf(provider.SnapshotOf(svc), role == provider.RoleMain) {
			add(f.field, f.text)
			if i == 0 { // after the image
				add("role", string(role))
				add("depends_on", bareTexts(svc.DependsOn))
			}
		}
	}
	return out
}
