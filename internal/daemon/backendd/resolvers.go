package backendd

import (
	"bufio"
	"io"
	"net/netip"
	"os"
	"strings"

	"github.com/berth-cloud/berth/internal/node"
)

// resolverFiles are where an engine finds the resolvers that it gives to containers: the
// second, where the first has only those of this machine.
var resolverFiles = []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"}

const maxResolverFile = 64 << 10

// unreachable are the resolvers of this machine that the rules keep leases from.
func unreachable(files []string, r node.Rules) []netip.Addr {
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			continue
		}
		found := nameservers(io.LimitReader(f, maxResolverFile))
		_ = f.Close()
		var deaf []netip.Addr
		asked := false
		for _, a := range found {
			if a.IsLoopback() {
				continue // the engine asks it itself
			}
			asked = true
			if node.IsPrivate(a) && !r.Opens(a) {
				deaf = append(deaf, a)
			}
		}
		if asked {
			return deaf
		}
	}
	return nil
}

func nameservers(r io.Reader) []netip.Addr {
	var out []netip.Addr
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 2 || f[0] != "nameserver" {
			continue
		}
		if a, err := netip.ParseAddr(f[1]); err == nil {
			out = append(out, a.Unmap().WithZone(""))
		}
	}
	return out
}
