package workloads

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/provider"
)

// shape is what no release changes of a workload.
type shape struct {
	Kind     provider.WorkloadKind `json:"kind"`
	Network  string                `json:"network,omitempty"`
	Labels   map[string]string     `json:"labels,omitempty"`
	Services map[string]member     `json:"services"`
}

// member is the part of a service in the group.
type member struct {
	Role      provider.ServiceRole `json:"role"`
	DependsOn []string             `json:"depends_on,omitempty"`
}

// shapeOf is the shape that a request asks for.
func shapeOf(req provider.ProvisionRequest) shape {
	out := shape{Kind: req.Kind, Network: req.Network, Labels: maps.Clone(req.Labels), Services: map[string]member{}}
	if out.Kind == "" {
		out.Kind = provider.KindDeployment
	}
	for _, s := range req.Services {
		out.Services[s.Name] = member{Role: s.EffectiveRole(), DependsOn: slices.Sorted(slices.Values(s.DependsOn))}
	}
	return out
}

// main is the name of the main service.
func (s shape) main() string {
	for name, m := range s.Services {
		if m.Role == provider.RoleMain {
			return name
		}
	}
	return ""
}

// differs lists how a wanted shape differs from the one that is there.
func (s shape) differs(want shape) []string {
	var out []string
	if s.Kind != want.Kind {
		out = append(out, fmt.Sprintf("kind: it is a %s", s.Kind))
	}
	if s.Network != want.Network {
		out = append(out, fmt.Sprintf("network: it is %q", s.Network))
	}
	if !maps.Equal(s.Labels, want.Labels) {
		out = append(out, "labels: they are others")
	}
	names := maps.Clone(s.Services)
	maps.Copy(names, want.Services)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		have, had := s.Services[name]
		next, has := want.Services[name]
		switch {
		case !had:
			out = append(out, fmt.Sprintf("services.%s: there is no such service", name))
		case !has:
			out = append(out, fmt.Sprintf("services.%s: it has this service", name))
		case have.Role != next.Role:
			out = append(out, fmt.Sprintf("services.%s.role: it is %s", name, have.Role))
		case !slices.Equal(have.DependsOn, next.DependsOn):
			out = append(out, fmt.Sprintf("services.%s.depends_on: it is [%s]", name, strings.Join(have.DependsOn, ", ")))
		}
	}
	return out
}

// ShapeError means that a file asks for what no release can change. It is a
// provider.ErrConflict.
type ShapeError struct {
	Name string

	// Differs are the keys that differ, each with what the workload has.
	Differs []string
}

// Error lists them.
func (e *ShapeError) Error() string {
	return fmt.Sprintf("workload %s has another shape: %s", e.Name, strings.Join(e.Differs, "; "))
}

// Is makes it a provider.ErrConflict.
func (e *ShapeError) Is(target error) bool { return target == provider.ErrConflict }
