package spec

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// Bounds of the wait for other services.
const (
	minDependsTimeout = time.Second
	maxDependsTimeout = time.Hour
)

// dependencyFields are the keys of one dependency.
func dependencyFields() []field[Dependency] {
	return []field[Dependency]{
		{Name: "condition", Read: func(d *decoder, v value, into *Dependency) {
			name, ok := d.Str(v)
			if !ok {
				return
			}
			switch DependsStatus(name) {
			case DependsStarted, DependsReady, DependsCompleted:
				into.Condition = DependsStatus(name)
			default:
				d.Refuse(v, yamlfile.Quote(name)+" is not a condition", conditionAdvice(name))
			}
		}},
	}
}

// conditionAdvice knows the words of other tools too.
func conditionAdvice(name string) string {
	for _, c := range []DependsStatus{DependsStarted, DependsReady, DependsCompleted} {
		if strings.HasPrefix(strings.ToLower(name), "service_"+string(c)) {
			return "write " + string(c)
		}
	}
	if strings.Contains(name, "healthy") {
		return "write " + string(DependsReady)
	}
	return "write started, ready or completed"
}

// readDependsOn reads services to wait for: their names, or a map by name.
func readDependsOn(d *decoder, v value, s *serviceDraft) {
	switch {
	case v.Kind != yaml.MappingNode:
		for _, name := range d.names(v, maxServices, "[db]") {
			s.DependsOn = append(s.DependsOn, Dependency{Service: name})
		}
	case len(v.Content)/2 > maxServices:
		d.Refuse(v, fmt.Sprintf("there are %d names", len(v.Content)/2), fmt.Sprintf("the most is %d", maxServices))
	default:
		d.Pairs(v, func(key *yaml.Node, val value) {
			if yamlfile.IsNull(val.Node) {
				d.Refuse(val, "there is no value", "write {condition: ready}, or a list of names")
				return
			}
			dep := Dependency{Service: key.Value}
			yamlfile.Section(d, val, dependencyFields(), &dep)
			s.DependsOn = append(s.DependsOn, dep)
			d.At[namePath(v.Path, key.Value)] = yamlfile.PositionOf(key)
		})
	}
	slices.SortFunc(s.DependsOn, func(a, b Dependency) int { return strings.Compare(a.Service, b.Service) })
}

// dependsRules: services wait for others of the app, for what these can come to,
// and not for each other.
func (d *decoder) dependsRules(app *appDraft) {
	byName := map[string]*serviceDraft{}
	names := make([]string, len(app.services))
	for i, s := range app.services {
		byName[s.Name], names[i] = s, s.Name
	}
	for _, s := range app.services {
		if s.DependsTimeout == 0 && len(s.DependsOn) > 0 {
			s.DependsTimeout = DefaultDependsTimeout
		}
		if s.DependsTimeout != 0 && !s.main.written(d, "depends_on") {
			d.RefuseAt(s.path+".depends_timeout", "there is nothing to wait for", "write depends_on, or leave it out")
		}
		for i := range s.DependsOn {
			dep := &s.DependsOn[i]
			refuse := func(what, do string) {
				d.refuseName(s.path+".depends_on", dep.Service, what, do)
			}
			other := byName[dep.Service]
			switch {
			case other == nil:
				do := "depends_on names services of this app"
				if near := yamlfile.Nearest(dep.Service, names); near != "" {
					do = "did you mean " + near + "?"
				}
				refuse("there is no service "+yamlfile.Quote(dep.Service), do)
			case other == s:
				refuse("the service waits for itself", "remove it")
			default:
				d.condition(dep, other, refuse)
			}
		}
	}
	acyclic(app.services, func(s *serviceDraft) string { return s.Name }, (*serviceDraft).waitsFor,
		func(s *serviceDraft, loop string) {
			d.RefuseAt(s.path+".depends_on", "the services wait for each other: "+loop, "remove one of the dependencies")
		})
}

// condition fills in what is waited for: that a service is ready, or has run to
// completion where that is its end.
func (d *decoder) condition(dep *Dependency, other *serviceDraft, refuse func(what, do string)) {
	switch {
	case other.restartRefused:
	case dep.Condition == "" && other.Completes():
		dep.Condition = DependsCompleted
	case dep.Condition == "":
		dep.Condition = DependsReady
	case dep.Condition == DependsCompleted && !other.Completes():
		refuse("the service "+other.Name+" never completes", "write ready, or give it restart: on-failure")
	case dep.Condition == DependsReady && other.Completes():
		refuse("the service "+other.Name+" runs to completion and is never ready", "write completed or started")
	}
}

// waitsFor are the other services that a service waits for.
func (s *serviceDraft) waitsFor() []string {
	var names []string
	for _, dep := range s.DependsOn {
		if dep.Service != s.Name {
			names = append(names, dep.Service)
		}
	}
	return names
}

// acyclic reports every loop of things that wait for each other, at the first of
// them in the order of the file. A thing is reported in one loop.
func acyclic[T any](things []T, name func(T) string, waits func(T) []string, refuse func(first T, loop string)) {
	byName := make(map[string]T, len(things))
	for _, t := range things {
		byName[name(t)] = t
	}
	done := map[string]bool{}
	var path []string
	var visit func(n string)
	visit = func(n string) {
		t, known := byName[n]
		if at := slices.Index(path, n); at >= 0 {
			refuse(t, fmt.Sprintf("%s → %s", strings.Join(path[at:], " → "), n))
			return
		}
		if done[n] || !known {
			return
		}
		done[n] = true
		path = append(path, n)
		for _, next := range waits(t) {
			visit(next)
		}
		path = path[:len(path)-1]
	}
	for _, t := range things {
		visit(name(t))
	}
}
