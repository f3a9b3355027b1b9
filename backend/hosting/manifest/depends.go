package manifest

import (
	"cmp"
	"slices"
)

// dependsOn reads {"db": {"condition": "service_healthy"}}.
func (r *reader) dependsOn(at *place, n *node) []Dependency {
	var out []Dependency
	r.entries(at, n, MaxServices, func(at *place, name string, n *node) {
		d := Dependency{Service: name}
		r.fields(at, n, map[string]func(*place, *node){
			"condition": func(at *place, n *node) {
				s, ok := r.text(at, n)
				d.Condition = Condition(s)
				if ok && d.Condition != Started && d.Condition != Healthy {
					r.add(at, "is neither %s nor %s", Started, Healthy)
				}
			},
		})
		if n.kind == object && n.member("condition") == nil {
			r.add(at.field("condition"), "is missing; write %s or %s", Started, Healthy)
		}
		out = append(out, d)
	})
	slices.SortFunc(out, func(a, b Dependency) int { return cmp.Compare(a.Service, b.Service) })
	return out
}

// dependencies holds all services of a stack against each other.
func (r *reader) dependencies(at *place, stack *Stack) {
	for _, name := range stack.Names() {
		for _, d := range stack.Services[name].DependsOn {
			at := at.field(name).field("depends_on").field(d.Service)
			on := stack.Services[d.Service]
			switch {
			case d.Service == name:
				r.add(at, "is the service itself; remove it")
			case on == nil:
				r.add(at, "is no service of the document; add it, or remove this")
			case d.Condition == Healthy && on.HealthCheck == nil:
				r.add(at.field("condition"), "is %s, and %s has no health check; give it one, or write %s", Healthy, quote(d.Service), Started)
			}
		}
	}
	r.chains(at, stack)
}

// chains looks for circles, and for dependencies that go too deep.
func (r *reader) chains(at *place, stack *Stack) {
	_, depth := settle(stack)
	for _, name := range stack.Names() {
		if depth[name] == MaxDependencyDepth+1 { // what begins more leads here
			r.add(at.field(name).field("depends_on"), "begins more than %d dependencies in a row; shorten them", MaxDependencyDepth)
		}
	}
	for _, circle := range circles(stack, depth) {
		r.add(at.field(circle[0]).field("depends_on"), "leads back to the service itself over %d of them, next %s; break the circle", len(circle), quote(circle[1%len(circle)]))
	}
}

// circles are some of those that the services which are not settled make, so that
// each such service is in one or leads to one. No service is in two, and a service
// that depends on itself is told elsewhere.
func circles(stack *Stack, settled map[string]int) [][]string {
	var out [][]string
	walkOf := map[string]int{} // the walk that came by
	for i, name := range stack.Names() {
		if _, done := settled[name]; done {
			continue
		}
		var walk []string
		for walkOf[name] == 0 {
			walkOf[name] = i + 1
			walk = append(walk, name)
			name = unsettled(stack, name, settled)
		}
		if walkOf[name] == i+1 {
			out = append(out, walk[slices.Index(walk, name):])
		}
	}
	return out
}

// unsettled is the first dependency that keeps a service from being settled.
func unsettled(stack *Stack, name string, settled map[string]int) string {
	for _, d := range stack.Services[name].DependsOn {
		_, done := settled[d.Service]
		if !done && stack.Services[d.Service] != nil && d.Service != name {
			return d.Service
		}
	}
	return name
}

// settle orders the services so that each comes behind those that it depends on, by
// name where that leaves a choice, and counts for each the dependencies in a row
// that it begins. Services on the way to a circle are in neither.
func settle(stack *Stack) (order []string, depth map[string]int) {
	depth = map[string]int{}
	waiting, users := map[string]int{}, map[string][]string{}
	var ready []string
	for _, name := range stack.Names() {
		for _, d := range stack.Services[name].DependsOn {
			if stack.Services[d.Service] != nil && d.Service != name {
				waiting[name]++
				users[d.Service] = append(users[d.Service], name)
			}
		}
		if waiting[name] == 0 {
			ready = append(ready, name)
		}
	}
	for len(ready) > 0 {
		var next []string
		for _, name := range ready {
			order = append(order, name)
			depth[name] = max(depth[name], 0) // there, also when it is 0
			for _, user := range users[name] {
				depth[user] = max(depth[user], depth[name]+1)
				if waiting[user]--; waiting[user] == 0 {
					next = append(next, user)
				}
			}
		}
		slices.Sort(next)
		ready = next
	}
	for name, n := range waiting {
		if n > 0 {
			delete(depth, name)
		}
	}
	return order, depth
}

// Order is the names of the services, each behind those that it depends on, and by
// name within a step.
func (s *Stack) Order() []string {
	order, _ := settle(s)
	return order
}
