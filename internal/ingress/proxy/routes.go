package proxy

import (
	"sort"
	"strings"
	"sync/atomic"
	"time"
)

// snapshot is one merged table in use. It is never changed; a swap replaces it.
type snapshot struct {
	hosts map[string][]*route // longest path first
	// changed is closed when the next snapshot is in use.
	changed chan struct{}
}

// route is one service's entry in a snapshot.
type route struct {
	service *service
	path    string
	targets []candidate
	hold    time.Duration
	maxBody int64
	turn    atomic.Uint32 // where the next pick starts, so that equals take turns
}

type candidate struct {
	t      *target
	weight int64
}

// match finds the route of a host and a path, nil for none. Of a host's
// prefixes the longest that ends at a segment boundary of path wins.
func (s *snapshot) match(host, path string) *route {
	for _, r := range s.hosts[host] {
		if underPrefix(r.path, path) {
			return r
		}
	}
	return nil
}

// underPrefix reports whether path is prefix or below it: "/api" holds "/api"
// and "/api/x", not "/apix". "/" holds everything.
func underPrefix(prefix, path string) bool {
	if prefix == "/" {
		return true
	}
	return strings.HasPrefix(path, prefix) && (len(path) == len(prefix) || path[len(prefix)] == '/')
}

// canonicalHost is a Host header as the table spells it: lower case, without
// port and without the final dot of a fully qualified name. It does not
// allocate for a host that is lower case already.
func canonicalHost(h string) string {
	if strings.HasPrefix(h, "[") {
		if i := strings.IndexByte(h, ']'); i > 0 {
			return strings.ToLower(h[1:i])
		}
		return ""
	}
	if i := strings.IndexByte(h, ':'); i >= 0 {
		h = h[:i]
	}
	return strings.ToLower(strings.TrimSuffix(h, "."))
}

func sortByPath(hosts map[string][]*route) {
	for _, rs := range hosts {
		sort.SliceStable(rs, func(i, j int) bool { return len(rs[i].path) > len(rs[j].path) })
	}
}
