package manifest

import (
	"regexp"
	"slices"
	"strconv"
)

var (
	portForm   = regexp.MustCompile(`^([1-9][0-9]{0,4})/(tcp|udp)$`)
	exposeForm = regexp.MustCompile(`^([1-9][0-9]{0,4})(/(tcp|udp))?$`)
)

// ports reads {"80/tcp": {"ingress": true}}.
func (r *reader) ports(at *place, n *node) []Port {
	var out []Port
	ingress := ""
	r.entries(at, n, MaxPorts, func(at *place, key string, n *node) {
		p, good := portOf(portForm.FindStringSubmatch(key))
		if !good {
			r.add(at, "is no port: a number from 1 to %d with /tcp or /udp behind it", maxPort)
		}
		p.Ingress = r.port(at, n)
		switch {
		case !p.Ingress || !good:
		case p.Protocol != TCP:
			r.add(at.field("ingress"), "is for a port of TCP; remove it here")
		case ingress != "":
			r.add(at.field("ingress"), "is there for %s too; host names lead to one port, so keep one", ingress)
		default:
			ingress = p.String()
		}
		out = append(out, p)
	})
	slices.SortFunc(out, comparePorts)
	return out
}

// port reads what stands beside a port, and says whether ingress leads there.
func (r *reader) port(at *place, n *node) (ingress bool) {
	r.fields(at, n, map[string]func(*place, *node){
		"ingress": func(at *place, n *node) { ingress = r.boolean(at, n) },
		"host_port": func(at *place, n *node) {
			if host, ok := r.integer(at, n); ok && host != 0 {
				r.add(at, "asks for a port of the host; those are given out as they are free, so leave it out and read the port from the connection")
			}
		},
	})
	return ingress
}

// expose reads ["9000", "53/udp"]. One that is there twice is one.
func (r *reader) expose(at *place, n *node) []Port {
	var out []Port
	r.list(at, n, MaxExpose, func(at *place, n *node) {
		s, ok := r.text(at, n)
		if !ok {
			return
		}
		found := exposeForm.FindStringSubmatch(s)
		if found != nil {
			found = []string{found[0], found[1], found[3]}
		}
		p, good := portOf(found)
		if !good {
			r.add(at, "is no port: a number from 1 to %d, with /tcp or /udp behind it or nothing, which is /tcp", maxPort)
			return
		}
		out = append(out, p)
	})
	slices.SortFunc(out, comparePorts)
	return slices.Compact(out)
}

// portOf makes a port of what a form found: the whole, the number, the protocol.
func portOf(found []string) (Port, bool) {
	if found == nil {
		return Port{}, false
	}
	number, err := strconv.Atoi(found[1])
	if err != nil || number > maxPort {
		return Port{}, false
	}
	protocol := TCP
	if found[2] == string(UDP) {
		protocol = UDP
	}
	return Port{Number: number, Protocol: protocol}, true
}
