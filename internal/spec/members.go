package spec

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// maxMembers bounds the containers of one replica, the main one included.
const maxMembers = 10

func itself(m *memberDraft) *memberDraft { return m }

// initFields are the keys of an init: it runs to its end, so nobody connects to
// it or asks it.
func initFields() []field[memberDraft] {
	return slices.Concat([]field[memberDraft]{memberName()}, programFields(itself), storageFields(itself), processFields(itself),
		[]field[memberDraft]{memberDependsOn()})
}

// sidecarFields are the keys of a sidecar.
func sidecarFields() []field[memberDraft] {
	return slices.Concat([]field[memberDraft]{memberName()}, programFields(itself), portField(itself), []field[memberDraft]{
		{Name: "health", Read: func(d *decoder, v value, m *memberDraft) { yamlfile.Section(d, v, probeFields(itself), m) }},
	}, storageFields(itself), publishField(itself), processFields(itself), []field[memberDraft]{memberDependsOn()})
}

func memberName() field[memberDraft] {
	return field[memberDraft]{Name: "name", Read: func(d *decoder, v value, m *memberDraft) {
		if m.Name != "" {
			d.Refuse(v, "the name stands before the colon already", "leave it out")
			return
		}
		name, ok := d.Text(v)
		if !ok {
			return
		}
		m.Name = name
		if err := CheckName(name); err != nil {
			d.RefuseErr(v, err)
		}
	}}
}

func memberDependsOn() field[memberDraft] {
	return field[memberDraft]{Name: "depends_on", Read: func(d *decoder, v value, m *memberDraft) {
		m.DependsOn = d.names(v, maxMembers, "[proxy]")
	}}
}

// membersField is a key for members in their order: a map by name, or a list of
// maps with a name.
func membersField(name string, fields func() []field[memberDraft], of func(*serviceDraft) *[]*memberDraft) field[serviceDraft] {
	return field[serviceDraft]{Name: name, Read: func(d *decoder, v value, s *serviceDraft) {
		list := of(s)
		add := func(m *memberDraft, v value) {
			if len(*list) == maxMembers {
				return // counted with the others of the group
			}
			yamlfile.Section(d, v, fields(), m)
			*list = append(*list, m)
		}
		if v.Kind == yaml.SequenceNode {
			d.Items(v, "[{name: proxy, image: proxy:1}]", func(i int, item value) {
				m := &memberDraft{path: item.Path}
				before := d.Errs.Count()
				if add(m, item); m.Name == "" && len(*list) < maxMembers && item.Kind == yaml.MappingNode && d.Errs.Count() == before {
					d.Refuse(item, "name is missing", "name it, for example: name: proxy")
				}
			})
			s.members += len(v.Content)
			return
		}
		d.Pairs(v, func(key *yaml.Node, val value) {
			s.members++
			if err := CheckName(key.Value); err != nil {
				what, do := yamlfile.SplitAdvice(err)
				d.Fail(yamlfile.PositionOf(key), val.Path, what, do)
			}
			if yamlfile.IsNull(val.Node) {
				d.Refuse(val, "there is no value", missingAdvice("image"))
				return
			}
			add(&memberDraft{Member: Member{Name: key.Value}, path: val.Path}, val)
		})
	}}
}

// group is all containers of a service, the main one between inits and sidecars.
func (s *serviceDraft) group() []*memberDraft {
	return slices.Concat(s.inits, []*memberDraft{&s.main}, s.sidecars)
}

// complete makes the service of its parts.
func (s *serviceDraft) complete() {
	m := s.main.Member
	s.Image, s.Command, s.Env, s.Port, s.Process = m.Image, m.Command, m.Env, m.Port, m.Process
	s.Readiness, s.Liveness, s.Resources, s.Volumes, s.Publish = m.Readiness, m.Liveness, m.Resources, m.Volumes, m.Publish
	for _, m := range s.inits {
		s.Inits = append(s.Inits, m.Member)
	}
	for _, m := range s.sidecars {
		s.Sidecars = append(s.Sidecars, m.Member)
	}
}

// groupRules hold the members of a service against each other.
func (d *decoder) groupRules(s *serviceDraft) {
	if s.members > maxMembers {
		d.RefuseAt(s.path, fmt.Sprintf("a replica would be %d containers", s.members), fmt.Sprintf("the most is %d", maxMembers))
	}
	d.memberNamesOnce(s)
	d.memberPortsOnce(s)
	for _, m := range s.group() {
		d.mountsOnce(m)
	}
	d.memberOrder(s)
	for _, name := range s.SidecarsFirst {
		if indexMember(s.sidecars, name) < 0 {
			d.refuseName(s.path+".after", name, "there is no sidecar "+yamlfile.Quote(name), s.nameAdvice(s.sidecars, name, "after names sidecars that start first"))
		}
	}
}

// memberOrder: inits wait for inits before them, sidecars for sidecars, and none
// of them for each other.
func (d *decoder) memberOrder(s *serviceDraft) {
	for i, m := range s.inits {
		for _, name := range m.DependsOn {
			at := indexMember(s.inits, name)
			switch {
			case at < 0:
				d.refuseName(m.path+".depends_on", name, "there is no init "+yamlfile.Quote(name), s.nameAdvice(s.inits, name, "inits wait for inits alone"))
			case at == i:
				d.refuseName(m.path+".depends_on", name, "the init waits for itself", "remove it")
			case at > i:
				d.refuseName(m.path+".depends_on", name, m.Name+" runs before "+name, "inits run in the order they are written; move it down")
			}
		}
	}
	for i, m := range s.sidecars {
		for _, name := range m.DependsOn {
			switch indexMember(s.sidecars, name) {
			case -1:
				d.refuseName(m.path+".depends_on", name, "there is no sidecar "+yamlfile.Quote(name), s.nameAdvice(s.sidecars, name, "sidecars wait for sidecars alone"))
			case i:
				d.refuseName(m.path+".depends_on", name, "the sidecar waits for itself", "remove it")
			}
		}
	}
	name := func(m *memberDraft) string { return m.Name }
	others := func(m *memberDraft) []string {
		return slices.DeleteFunc(slices.Clone(m.DependsOn), func(name string) bool { return name == m.Name })
	}
	acyclic(s.sidecars, name, others, func(m *memberDraft, loop string) {
		d.RefuseAt(m.path+".depends_on", "the sidecars wait for each other: "+loop, "remove one of the dependencies")
	})
}

func indexMember(list []*memberDraft, name string) int {
	return slices.IndexFunc(list, func(m *memberDraft) bool { return m.Name == name })
}

// nameAdvice says what a name that is not in a list may have meant.
func (s *serviceDraft) nameAdvice(list []*memberDraft, name, rule string) string {
	switch {
	case indexMember(s.inits, name) >= 0:
		return "inits have ended before anything else starts; " + rule
	case name == s.Name:
		return "sidecars start once the main container runs; " + rule
	case indexMember(s.sidecars, name) >= 0:
		return name + " is a sidecar; " + rule
	}
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.Name
	}
	if near := yamlfile.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	return rule
}

// memberNamesOnce: within a replica a name leads to one container.
func (d *decoder) memberNamesOnce(s *serviceDraft) {
	seen := map[string]bool{s.Name: true}
	for _, m := range slices.Concat(s.inits, s.sidecars) {
		switch {
		case m.Name == s.Name:
			d.RefuseAt(m.path, m.Name+" is the name of the main container", "name it differently")
		case m.Name != "" && seen[m.Name]:
			d.RefuseAt(m.path, "two members are called "+yamlfile.QuoteBare(m.Name), "name one differently")
		}
		seen[m.Name] = true
	}
}

// noShadows: within a replica a member's name leads to it, so another service of
// that name could not be reached from there.
func (d *decoder) noShadows(app *appDraft) {
	services := map[string]bool{}
	for _, s := range app.services {
		services[s.Name] = true
	}
	for _, s := range app.services {
		for _, m := range slices.Concat(s.inits, s.sidecars) {
			if services[m.Name] && m.Name != s.Name {
				d.RefuseAt(m.path, "a service of the app is called "+m.Name+" too, and could not be reached from this replica",
					"name one differently")
			}
		}
	}
}

// memberPortsOnce: where members share one address, as on Kubernetes, a port is
// listened on once.
func (d *decoder) memberPortsOnce(s *serviceDraft) {
	for i, m := range s.sidecars {
		others := slices.Concat([]*memberDraft{&s.main}, s.sidecars[:i])
		j := slices.IndexFunc(others, func(o *memberDraft) bool { return o.Port == m.Port && m.Port != 0 })
		if j >= 0 {
			d.RefuseAt(m.path+".port", fmt.Sprintf("%s listens on port %d already (line %d)", others[j].Name, m.Port,
				d.At[others[j].path+".port"].Line), "choose another port")
		}
	}
}
