package settings

import (
	"math"
	"net/netip"

	"github.com/berth-cloud/berth/internal/node"
	"github.com/berth-cloud/berth/internal/spec/yamlfile"
)

// maxIsolated is how many prefixes, addresses or ports one key may have.
const maxIsolated = 64

func isolationFields() []field[Isolation] {
	return []field[Isolation]{
		{Name: "firewall", Read: func(d *decoder, v value, i *Isolation) { i.Firewall = d.onOff(v) }},
		{Name: "allow_private", Read: func(d *decoder, v value, i *Isolation) {
			i.AllowPrivate = list(d, v, "[10.20.0.0/16]", (*decoder).openable)
		}},
		{Name: "resolvers", Read: func(d *decoder, v value, i *Isolation) {
			i.Resolvers = list(d, v, "[10.20.0.2]", (*decoder).nameServer)
		}},
		{Name: "data_plane_ports", Read: func(d *decoder, v value, i *Isolation) {
			i.DataPlanePorts = list(d, v, "[80, 443]", func(d *decoder, v value) uint16 {
				n, _ := d.Integer(v, 1, math.MaxUint16)
				return uint16(n)
			})
		}},
	}
}

// list reads the items of a list, of which there may be none.
func list[T any](d *decoder, v value, example string, read func(*decoder, value) T) []T {
	var out []T
	d.Items(v, example, func(i int, item value) {
		if i == maxIsolated {
			d.Refuse(item, "there are too many", "the most is 64")
		}
		if i < maxIsolated {
			out = append(out, read(d, item))
		}
	})
	return out
}

func (d *decoder) onOff(v value) bool {
	text, ok := d.Text(v)
	if ok && text != "on" && text != "off" {
		d.Refuse(v, yamlfile.Quote(text)+" is neither on nor off", "write one of them")
	}
	return text == "on"
}

// openable is a prefix that leases can be allowed to reach.
func (d *decoder) openable(v value) netip.Prefix {
	text, ok := d.Str(v)
	if !ok {
		return netip.Prefix{}
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil || p != p.Masked() || p.Addr().Is4In6():
		d.Refuse(v, yamlfile.Quote(text)+" is not a prefix", "write one, 10.20.0.0/16 for example")
	case node.NeverOpen(p):
		d.Refuse(v, yamlfile.Quote(text)+" is link-local, of a metadata service or of no machine, and never reached by leases", "leave it out")
	}
	return p
}

func (d *decoder) nameServer(v value) netip.Addr {
	text, ok := d.Str(v)
	if !ok {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" || a.Is4In6() || a.IsLoopback() || a.IsUnspecified() {
		d.Refuse(v, yamlfile.Quote(text)+" is not the address of a resolver", "write one, 10.20.0.2 for example")
	}
	return a
}
