package manifest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/backend"
)

// Policy is from which registries tenants may run images.
type Policy struct {
	registries map[string]bool
}

// ErrRegistry is a name that is not that of a registry.
var ErrRegistry = errors.New("not the domain of a registry")

// NewPolicy allows the named registries, each a domain as images have it when nothing
// is left out: "docker.io", "ghcr.io", "registry.example:5000". A domain allows
// neither those below it nor another port. No name at all allows no image. What is no
// such domain is ErrRegistry.
func NewPolicy(domains ...string) (Policy, error) {
	p := Policy{registries: map[string]bool{}}
	for _, d := range domains {
		if got := Registry(d + "/a/b"); got == "" || got != d || strings.Contains(d, "/") {
			return Policy{}, fmt.Errorf("%w: %s; write it as in docker.io or registry.example:5000", ErrRegistry, quote(d))
		}
		p.registries[d] = true
	}
	return p, nil
}

// Check is nil when every image of a stack is from an allowed registry, and else
// backend.ErrImageNotAllowed, with the services and what is allowed.
func (p Policy) Check(s *Stack) error {
	var refused []string
	for _, name := range s.Names() {
		if registry := Registry(s.Services[name].Image); !p.registries[registry] {
			refused = append(refused, fmt.Sprintf("service %s is from %s", quote(name), quote(registry)))
		}
	}
	if len(refused) == 0 {
		return nil
	}
	allowed := "no registry is allowed"
	if len(p.registries) > 0 {
		allowed = "allowed are " + strings.Join(slices.Sorted(maps.Keys(p.registries)), ", ")
	}
	more := ""
	if n := len(refused) - maxFaults; n > 0 {
		refused, more = refused[:maxFaults], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%w: the image of %s%s; %s", backend.ErrImageNotAllowed, strings.Join(refused, ", "), more, allowed)
}

// Images are the references of a stack, each once, sorted.
func (s *Stack) Images() []string {
	var out []string
	for _, service := range s.Services {
		out = append(out, service.Image)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
