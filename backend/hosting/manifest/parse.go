package manifest

import (
	"regexp"
	"slices"
)

// Parse reads a document. What is wrong with it is an *Error, which has all faults
// and is a backend.ErrInvalidManifest. It takes no more memory and time than a small
// multiple of the document's size, which MaxBytes bounds.
func Parse(payload []byte) (*Stack, error) {
	var r reader
	root := tree(payload, &r.faults)
	if root == nil {
		return nil, r.err()
	}
	stack := &Stack{Services: map[string]*Service{}}
	if root.kind == object && root.member("services") != nil {
		r.stack(root, stack)
	} else if s := r.service(nil, root, false); s != nil {
		stack.Services[DefaultService] = s
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	// What a document leaves out makes its canonical form longer, and that form has
	// to be one that is read too.
	canonical, err := stack.Canonical()
	if err != nil {
		return nil, err
	}
	if len(canonical) > MaxBytes {
		r.add(nil, "the document has %d bytes once it is written in full; the most is %d", len(canonical), MaxBytes)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return stack, nil
}

var serviceNameForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

func (r *reader) stack(root *node, stack *Stack) {
	r.fields(nil, root, map[string]func(*place, *node){
		"services": func(at *place, n *node) {
			if n.kind == object && len(n.members) == 0 {
				r.add(at, "is empty; name at least one service")
			}
			r.entries(at, n, MaxServices, func(at *place, name string, n *node) {
				if len(name) > MaxServiceName || !serviceNameForm.MatchString(name) {
					r.add(at, "is no name of a service: 1 to %d lower-case letters, digits and hyphens, with a letter or digit at both ends", MaxServiceName)
				}
				if s := r.service(at, n, true); s != nil {
					stack.Services[name] = s
				}
			})
			r.dependencies(at, stack)
		},
	})
}

// service is nil when there is no object to read it from.
func (r *reader) service(at *place, n *node, inStack bool) *Service {
	if !r.is(at, n, object) {
		return nil
	}
	s := &Service{StopGrace: DefaultStopGrace}
	r.fields(at, n, map[string]func(*place, *node){
		"image":             func(at *place, n *node) { s.Image = r.image(at, n) },
		"ports":             func(at *place, n *node) { s.Ports = r.ports(at, n) },
		"expose":            func(at *place, n *node) { s.Expose = r.expose(at, n) },
		"env":               func(at *place, n *node) { s.Env = r.env(at, n) },
		"labels":            func(at *place, n *node) { s.Labels = r.labels(at, n) },
		"command":           func(at *place, n *node) { s.Command = r.command(at, n) },
		"args":              func(at *place, n *node) { s.Args = r.words(at, n) },
		"health_check":      func(at *place, n *node) { s.HealthCheck = r.healthCheck(at, n) },
		"tmpfs":             func(at *place, n *node) { s.Tmpfs = r.tmpfs(at, n) },
		"user":              func(at *place, n *node) { s.User = r.user(at, n) },
		"stop_grace_period": func(at *place, n *node) { s.StopGrace = r.duration(at, n, MinStopGrace, MaxStopGrace) },
		"init":              func(at *place, n *node) { s.Init = r.boolean(at, n) },
		"depends_on": func(at *place, n *node) {
			if !inStack {
				r.add(at, `needs other services to name; write the document as {"services": {…}}`)
				return
			}
			s.DependsOn = r.dependsOn(at, n)
		},
	})
	if n.member("image") == nil {
		r.add(at.field("image"), "is missing; name the image to run")
	}
	s.Expose = slices.DeleteFunc(s.Expose, func(e Port) bool {
		return slices.ContainsFunc(s.Ports, func(p Port) bool { return comparePorts(p, e) == 0 })
	})
	return s
}
