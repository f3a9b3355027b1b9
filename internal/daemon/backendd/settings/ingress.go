package settings

import (
	"net/netip"

	"github.com/berth-cloud/berth/backend/hosting/fqdn"
	"github.com/berth-cloud/berth/backend/hosting/resolvable"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

func ingressFields() []field[Ingress] {
	return []field[Ingress]{
		{Name: "wildcard_domain", Required: true, Read: func(d *decoder, v value, g *Ingress) { g.WildcardDomain = d.wildcard(v) }},
		{Name: "control", Required: true, Read: func(d *decoder, v value, g *Ingress) { g.Control = d.file(v) }},
		{Name: "dns_gate", Read: func(d *decoder, v value, g *Ingress) {
			yamlfile.Section(d, v, gateFields(), &g.Gate)
			if _, err := resolvable.New(g.Gate); err != nil {
				d.Refuse(v, err.Error(), "")
			}
		}},
	}
}

func gateFields() []field[resolvable.Config] {
	return []field[resolvable.Config]{
		{Name: "resolvers", Read: func(d *decoder, v value, c *resolvable.Config) {
			d.Items(v, "[1.1.1.1, 8.8.8.8, 9.9.9.9]", func(_ int, item value) {
				if at, ok := d.resolver(item); ok {
					c.Resolvers = append(c.Resolvers, at)
				}
			})
		}},
		{Name: "disabled", Read: func(d *decoder, v value, c *resolvable.Config) { c.Disabled, _ = d.Boolean(v) }},
	}
}

// wildcard is the domain below which leases have their names.
func (d *decoder) wildcard(v value) string {
	text, ok := d.Str(v)
	if !ok {
		return ""
	}
	name, err := fqdn.Wildcard(text)
	if err != nil {
		d.Refuse(v, err.Error(), "write a domain whose subdomains all lead to this machine, without *., leases.example.org for example")
	}
	return name
}

// resolver is an address, on the port of DNS where it has none.
func (d *decoder) resolver(v value) (netip.AddrPort, bool) {
	text, ok := d.Str(v)
	if !ok {
		return netip.AddrPort{}, false
	}
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(a, resolvable.Port), true
	}
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		d.Refuse(v, yamlfile.Quote(text)+" is not the address of a resolver", "write it as 9.9.9.9, or 127.0.0.1:5353 with a port")
	}
	return at, err == nil
}
