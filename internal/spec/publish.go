package spec

import (
	"cmp"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// maxPublished bounds the published ports of one container.
const maxPublished = 50

// publishFields are the keys of one published port.
func publishFields() []field[PublishedPort] {
	return []field[PublishedPort]{
		{Name: "port", Required: true, Read: func(d *decoder, v value, p *PublishedPort) { p.Port, _ = d.Integer(v, 1, maxPort) }},
		{Name: "host_port", Required: true, Read: func(d *decoder, v value, p *PublishedPort) {
			p.HostPort, _ = d.Integer(v, 1, maxPort)
		}},
		{Name: "public", Read: func(d *decoder, v value, p *PublishedPort) { p.Public, _ = d.Boolean(v) }},
	}
}

func readPublish(d *decoder, v value, m *memberDraft) {
	if len(v.Content) > maxPublished && v.Kind == yaml.SequenceNode {
		d.Refuse(v, fmt.Sprintf("there are %d published ports", len(v.Content)), fmt.Sprintf("the most is %d a service", maxPublished))
		return
	}
	d.Items(v, "[{port: 5432, host_port: 15432}]", func(i int, item value) {
		if item.Kind == yaml.ScalarNode {
			d.Refuse(item, "the published port is one value", "write {port: 5432, host_port: 15432}")
			return
		}
		var p PublishedPort
		before := d.Errs.Count()
		yamlfile.Section(d, item, publishFields(), &p)
		if item.Kind != yaml.MappingNode || d.Errs.Count() > before {
			return
		}
		if slices.ContainsFunc(m.Publish, func(o PublishedPort) bool { return o.HostPort == p.HostPort }) {
			d.Refuse(item, fmt.Sprintf("the host's port %d is published twice", p.HostPort), "choose another host_port")
			return
		}
		m.Publish = append(m.Publish, p)
		d.At[publishPath(m.path, p.HostPort)] = item.Position()
	})
	slices.SortFunc(m.Publish, func(a, b PublishedPort) int { return cmp.Compare(a.HostPort, b.HostPort) })
}

// publishPath is a path at which no key can be: it leads to a published port by
// its port of the host.
func publishPath(member string, hostPort int) string {
	return fmt.Sprintf("%s.publish[host %d", member, hostPort)
}
