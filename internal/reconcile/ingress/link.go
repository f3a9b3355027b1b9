package ingress

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/reconcile/application"
)

// Plane is the data plane as the control plane reaches it.
type Plane interface {
	Push(ctx context.Context, t table.Table) (table.Ack, error)
	Reports(ctx context.Context, each func(table.Report) error) error
}

// Link follows one data plane. Its view is what the last report said, or
// "unknown" while no data plane answers.
type Link struct {
	plane  Plane
	owner  table.Owner // of the table that counts
	logger *slog.Logger
	// wake is told which services' traffic changed; push that the data plane
	// is a new process and wants its table.
	wake func(service string)
	push func()
	lost func() // nobody answers any more

	mu    sync.Mutex
	epoch string
	view  application.IngressView
	alien bool              // the table of this epoch is another store's
	names map[string]string // target -> service

	cluster *table.ClusterReport // of the last report; nil for none
}

// NewLink builds a link; Run makes it live.
func NewLink(plane Plane, logger *slog.Logger, wake func(service string), push, lost func()) *Link {
	return NewLinkOf(table.OwnerServer, plane, logger, wake, push, lost)
}

// NewLinkOf is NewLink for the table of another owner. Its services are those of wake.
func NewLinkOf(owner table.Owner, plane Plane, logger *slog.Logger, wake func(service string), push, lost func()) *Link {
	return &Link{plane: plane, owner: owner, logger: logger, wake: wake, push: push, lost: lost}
}

// Cluster is what the data plane of that epoch says of nodes, nil when it was never told
// of any; known is false while no data plane answers. The report is never changed again.
func (l *Link) Cluster() (epoch string, report *table.ClusterReport, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epoch, l.cluster, l.view.Known
}

// Reaches says whether the data plane has a connection to the agent of a node.
func (l *Link) Reaches(node string) bool {
	_, report, _ := l.Cluster()
	return report != nil && slices.ContainsFunc(report.Nodes, func(n table.NodeReport) bool { return n.ID == node })
}

// unacknowledged is below every route version.
const unacknowledged = -1

const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Second
)

// Run follows reports until ctx is done, through any number of data planes.
func (l *Link) Run(ctx context.Context) {
	retry := firstRetry
	for ctx.Err() == nil {
		err := l.plane.Reports(ctx, func(r table.Report) error {
			retry = firstRetry
			l.take(r)
			return nil
		})
		if l.lose() && ctx.Err() == nil {
			l.logger.WarnContext(ctx, "the data plane is out of reach", "error", err)
		}
		l.lost()
		select {
		case <-ctx.Done():
		case <-time.After(retry):
			retry = min(2*retry, lastRetry)
		}
	}
}

// View is what is known now. The map in it is never changed again.
func (l *Link) View() application.IngressView {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.view
	if l.alien && v.Known {
		v.Acked, v.Reported = unacknowledged, unacknowledged
	}
	return v
}

// Acknowledged takes in an answer to a push.
func (l *Link) Acknowledged(a table.Ack) { l.acknowledged(a) }

// disown says that the data plane's table is not of this store, as when an older
// copy was brought back: its version, however high, covers nothing of ours. It
// holds until the data plane takes a table, or is another process.
func (l *Link) disown() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alien = true
}

// acknowledged takes in an answer to a push.
func (l *Link) acknowledged(a table.Ack) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.view.Known || a.Epoch != l.epoch {
		return // an answer of a process that is gone, or whose report is yet to come
	}
	l.view.Acked, l.alien = max(l.view.Acked, a.Version), false
}

// lose forgets the view and reports whether there was one.
func (l *Link) lose() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.view.Known
	l.view, l.epoch, l.alien, l.cluster = application.IngressView{}, "", false, nil
	return was
}

func (l *Link) take(r table.Report) {
	acked := int64(unacknowledged)
	if v, ok := r.Versions[l.owner]; ok {
		acked = v
	}
	traffic := make(map[string]application.TargetTraffic, len(r.Targets))
	names := make(map[string]string, len(r.Targets))
	for _, t := range r.Targets {
		traffic[t.ID] = application.TargetTraffic{InFlight: t.InFlight, Draining: t.Draining, DrainingSince: t.DrainingSince}
		names[t.ID] = t.Service
	}
	l.mu.Lock()
	fresh := r.Epoch != l.epoch
	before, beforeNames := l.view, l.names
	reported := acked
	if fresh {
		l.alien = false
	} else {
		acked = max(acked, before.Acked)
	}
	l.epoch, l.names, l.cluster = r.Epoch, names, r.Cluster
	l.view = application.IngressView{Known: true, Acked: acked, Reported: reported, InFlight: traffic}
	l.mu.Unlock()
	if fresh {
		l.push()
	}
	for service := range drained(before.InFlight, beforeNames, traffic) {
		l.wake(service)
	}
}

// drained are the services of targets that began to drain or are gone.
func drained(before map[string]application.TargetTraffic, names map[string]string, now map[string]application.TargetTraffic) map[string]bool {
	out := map[string]bool{}
	for id, was := range before {
		is, still := now[id]
		if !still || (is.Draining && (!was.Draining || is.InFlight == 0 && was.InFlight > 0)) {
			out[names[id]] = true
		}
	}
	return out
}
