package provider

import (
	"fmt"
	"slices"
)

// StartOrder is the names of a workload's services in the order in which each
// replica starts them: inits, then main, then sidecars, and each after what it
// depends on. A sidecar that main depends on, directly or over others, stands
// before main. Equals keep the order of the list. Services that ValidateServices
// refuses for their names, roles or dependencies are ErrInvalid.
func StartOrder(services []ServiceSpec) ([]string, error) {
	names := map[string]int{}
	for i, s := range services {
		names[s.Name] = i
	}
	var p problems
	order := validateDependencies(&p, services, names)
	if len(names) != len(services) {
		p.add("services", "two have one name")
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	out := make([]string, len(order))
	for i, at := range order {
		out[i] = services[at].Name
	}
	return out, nil
}

// rank orders services that do not depend on each other.
func rank(s ServiceSpec) int {
	return slices.Index([]ServiceRole{RoleInit, RoleMain, RoleSidecar}, s.EffectiveRole())
}

// validateDependencies reports every bad dependency and returns the start order
// of the rest.
func validateDependencies(p *problems, services []ServiceSpec, names map[string]int) []int {
	needs := make([][]int, len(services))
	for i, s := range services {
		for j, name := range s.DependsOn {
			where := at(at("services", i)+".depends_on", j)
			target, known := names[name]
			switch {
			case !known:
				p.add(where, "there is no service %q", clip(name))
			case target == i:
				p.add(where, "%s depends on itself", roleName(s))
			case slices.Contains(s.DependsOn[:j], name):
				p.add(where, "%q is named twice", clip(name))
			case s.EffectiveRole() == RoleInit && services[target].EffectiveRole() != RoleInit:
				p.add(where, "%s depends on %s, which starts only after every init", roleName(s), roleName(services[target]))
			default:
				needs[i] = append(needs[i], target)
			}
		}
	}
	w := walk{services: services, needs: needs, state: make([]int, len(services)), report: p}
	roots := make([]int, len(services))
	for i := range roots {
		roots[i] = i
	}
	slices.SortStableFunc(roots, func(a, b int) int { return rank(services[a]) - rank(services[b]) })
	for _, i := range roots {
		w.visit(i, nil)
	}
	return w.order
}

// walk is a depth-first search that reports circles.
type walk struct {
	services []ServiceSpec
	needs    [][]int
	state    []int // 0 new, 1 on the path, 2 done
	order    []int
	report   *problems
}

func (w *walk) visit(i int, path []int) {
	switch w.state[i] {
	case 2:
		return
	case 1:
		circle := path[slices.Index(path, i):]
		text := ""
		for _, j := range circle {
			text += fmt.Sprintf("%q, ", clip(w.services[j].Name))
		}
		w.report.add(at("services", i)+".depends_on", "goes round in a circle: %sand %q again", text, clip(w.services[i].Name))
		return
	}
	w.state[i] = 1
	needs := slices.Clone(w.needs[i])
	slices.SortStableFunc(needs, func(a, b int) int { return rank(w.services[a]) - rank(w.services[b]) })
	for _, j := range needs {
		w.visit(j, append(path, i))
	}
	w.state[i] = 2
	w.order = append(w.order, i)
}
