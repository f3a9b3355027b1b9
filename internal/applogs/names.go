package applogs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// origin is where lines come from.
type origin struct {
	container string // name
	service   string // short name
	release   string // "v3"; "" when not known
	replica   int
}

func (o origin) entry(l docker.LogLine) wire.LogEntry {
	return wire.LogEntry{
		Time: l.Time, Service: o.service, Release: o.release, Replica: o.replica, Container: o.container,
		Stream: string(l.Stream), Text: l.Text, Partial: l.Partial,
	}
}

// names tells releases by the nonce that containers carry.
type names struct {
	store Store
	app   string

	mu       sync.Mutex
	versions map[[2]string]string // service and nonce -> "v3"
}

func newNames(st Store, app string) *names {
	return &names{store: st, app: app, versions: map[[2]string]string{}}
}

// of is the origin of a container's lines, by its labels. Releases that cannot
// be read leave the version empty; lines matter more.
func (n *names) of(ctx context.Context, name string, labels map[string]string) origin {
	service := labels[docker.LabelService]
	o := origin{container: name, service: n.short(service)}
	o.replica, _ = strconv.Atoi(labels[docker.LabelReplica])
	o.release = n.version(ctx, service, labels[docker.LabelRelease])
	return o
}

func (n *names) kept(k store.KeptLog) origin {
	o := origin{container: k.Container, service: n.short(k.Service), replica: k.Replica}
	if i := strings.LastIndex(k.ReleaseID, "-v"); i >= 0 {
		o.release = k.ReleaseID[i+1:]
	}
	return o
}

func (n *names) short(service string) string { return strings.TrimPrefix(service, n.app+"-") }

func (n *names) version(ctx context.Context, service, nonce string) string {
	if nonce == "" {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	key := [2]string{service, nonce}
	if v, ok := n.versions[key]; ok {
		return v
	}
	releases, err := n.store.ListReleases(ctx, service, 0)
	if err != nil {
		return ""
	}
	// Oldest last, so that of two releases of one nonce the newest counts.
	for i := len(releases) - 1; i >= 0; i-- {
		n.versions[[2]string{service, releases[i].Nonce}] = fmt.Sprintf("v%d", releases[i].Version)
	}
	return n.versions[key]
}

// seen remembers the time of the last line delivered of each container, by
// name, from which its follower goes on.
type seen struct {
	mu   sync.Mutex
	last map[string]time.Time
}

func newSeen() *seen { return &seen{last: map[string]time.Time{}} }

func (s *seen) note(container string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[container] = at
}

// next is from when on lines of the container are new; def when none was seen.
func (s *seen) next(container string, def time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.last[container]; ok {
		return at.Add(1)
	}
	return def
}
