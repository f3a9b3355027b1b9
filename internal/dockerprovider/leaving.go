package dockerprovider

import (
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/reconcile/application"
	"github.com/berth-cloud/berth/internal/store"
)

// linger is how long a container that is no longer among the endpoints goes on,
// for those who read these a moment ago.
const linger = 500 * time.Millisecond

// leaving remembers which containers traffic has just left. A planner takes that
// for requests in flight.
type leaving struct {
	mu        sync.Mutex
	workloads map[id.ID]*departures
}

type departures struct {
	targets []string             // that take traffic
	left    map[string]time.Time // when traffic left the others
}

// note takes in which containers traffic goes to now. When it goes to none,
// somebody waits for those that it left to end.
func (l *leaving) note(workload id.ID, active *store.ActiveRelease, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.workloads[workload]
	if w == nil {
		if l.workloads == nil {
			l.workloads = map[id.ID]*departures{}
		}
		w = &departures{left: map[string]time.Time{}}
		l.workloads[workload] = w
	}
	var targets []string
	if active != nil {
		for _, t := range active.Targets {
			targets = append(targets, t.Container)
			delete(w.left, t.Container)
		}
	}
	for _, t := range w.targets {
		if !slices.Contains(targets, t) {
			w.left[t] = now
		}
	}
	if len(targets) == 0 {
		clear(w.left)
	}
	w.targets = targets
}

// forget drops what is remembered of a workload.
func (l *leaving) forget(workload id.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.workloads, workload)
}

// view is what a data plane would report of the workload, and when that changes;
// zero when nothing lingers.
func (l *leaving) view(workload id.ID, now time.Time) (application.IngressView, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const always = 1 << 62 // every version of the routes has been seen
	v := application.IngressView{Known: true, Acked: always, Reported: always, InFlight: map[string]application.TargetTraffic{}}
	w := l.workloads[workload]
	if w == nil {
		return v, 0
	}
	var next time.Duration
	for name, at := range w.left {
		rest := at.Add(linger).Sub(now)
		if rest <= 0 {
			delete(w.left, name)
			continue
		}
		v.InFlight[name] = application.TargetTraffic{InFlight: 1, Draining: true, DrainingSince: at}
		if next == 0 || rest < next {
			next = rest
		}
	}
	return v, next
}
