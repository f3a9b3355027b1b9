package applogs

import (
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/logread"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// origin is where lines come from.
type origin struct {
	service string // short name
	release string // "v3"; "" when not known
	replica int
	member  string // "" is the main container
}

func entry(l logread.Line[origin]) wire.LogEntry {
	return wire.LogEntry{
		Time: l.Time, Service: l.Origin.service, Release: l.Origin.release, Replica: l.Origin.replica, Member: l.Origin.member,
		Container: l.Container, Stream: string(l.Stream), Text: l.Text, Partial: l.Partial,
	}
}

// originOf is where the lines of a container of an app come from, by its labels.
func originOf(app, name string, labels map[string]string) origin {
	replica, _ := strconv.Atoi(labels[docker.LabelReplica]) // 0 for a label that is none
	return origin{
		service: spec.ShortName(app, labels[docker.LabelService]), release: store.VersionOf(labels[docker.LabelRelease]),
		replica: replica, member: memberOf(name),
	}
}

// keptOrigin is where the lines of a kept log come from.
func keptOrigin(app string, k store.KeptLog) origin {
	return origin{
		service: spec.ShortName(app, k.Service), release: store.VersionOf(k.ReleaseID), replica: k.Replica, member: memberOf(k.Container),
	}
}

// memberOf is the member of a container: names of services have no dot, and what
// follows it is the member's.
func memberOf(container string) string {
	_, member, _ := strings.Cut(container, ".")
	return member
}
