package applogs

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
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
	// Names of services have no dot; what follows it in a container's is the member.
	_, member, _ := strings.Cut(o.container, ".")
	return wire.LogEntry{
		Time: l.Time, Service: o.service, Release: o.release, Replica: o.replica, Member: member, Container: o.container,
		Stream: string(l.Stream), Text: l.Text, Partial: l.Partial,
	}
}

// originOf is where the lines of a container of an app come from, by its labels.
func originOf(app, name string, labels map[string]string) origin {
	replica, _ := strconv.Atoi(labels[docker.LabelReplica]) // 0 for a label that is none
	return origin{
		container: name, service: spec.ShortName(app, labels[docker.LabelService]),
		release: store.VersionOf(labels[docker.LabelRelease]), replica: replica,
	}
}

// keptOrigin is where the lines of a kept log come from.
func keptOrigin(app string, k store.KeptLog) origin {
	return origin{container: k.Container, service: spec.ShortName(app, k.Service), release: store.VersionOf(k.ReleaseID), replica: k.Replica}
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
