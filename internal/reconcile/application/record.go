package application

import (
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/probe"
	"github.com/berth-cloud/berth/internal/spec"
)

// record is what is remembered of one container.
type record struct {
	mu   sync.Mutex
	full *docker.ContainerState
	// touched counts what may have changed the container, and seen is what it was at
	// when the inspection began that full is from: several look at once, passes and
	// whoever asks for the status, and none of them sees for another.
	touched uint64
	seen    uint64
	ready   Readiness
	live    Liveness
	proof   time.Time // the start for which it was found ready; zero: not yet
	guess   bool      // the proof is an earlier process's: it may have started since
	deaths  []time.Time
	asked   bool // we stopped it: its end is no crash
	restart time.Time
	tail    []string
}

func (r *record) markStale() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touched++
}

// known is what the last inspection showed; due says that it does not do for a
// container listed like this. An inspection that is made then is observed with at.
func (r *record) known(listed *docker.ContainerState) (full *docker.ContainerState, at uint64, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	due = r.full == nil || r.seen != r.touched || r.full.Status != listed.Status || !listed.Running()
	return r.full, r.touched, due
}

// observe takes in an inspection: ends since the last one are crashes unless we
// asked for them. A container that takes traffic when it is first seen is trusted,
// as it was found ready before. One that began before what full is from is late, and
// says nothing any more.
func (r *record) observe(full *docker.ContainerState, at uint64, serving bool, now time.Time, backoff *RestartBackoff, t Timing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full != nil && at < r.seen {
		return
	}
	before := r.full
	r.full, r.seen = full, at
	if before == nil {
		if serving && full.Running() {
			r.proof, r.guess = full.Started, true
		}
		return
	}
	if !full.Started.Equal(before.Started) {
		r.ready = Readiness{}
		if last := r.live.Last; r.asked {
			r.live = Liveness{Last: last} // why it was stopped
		} else {
			r.live = Liveness{}
		}
	}
	for range crashes(before, full) {
		if r.asked {
			continue
		}
		r.deaths = append(r.deaths, now)
		if !full.Running() || len(r.deaths) >= t.CrashLimit {
			r.restart = backoff.Note(full.Name, now)
		}
	}
	if full.Running() {
		r.asked = false
	}
}

// crashes counts how often a container ended between two looks.
func crashes(before, after *docker.ContainerState) int {
	n := max(0, after.RestartCount-before.RestartCount)
	ended := after.Exit.FinishedAt.After(before.Exit.FinishedAt)
	if n == 0 && ended {
		n = 1
	}
	return n
}

func (r *record) noteAsked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = true
}

// noteStarted forgets what probing showed: the next run proves itself anew.
func (r *record) noteStarted() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = Readiness{}
	r.touched++
}

// noteHung remembers that a container is about to be stopped for its liveness:
// it starts again in place, after a delay that grows.
func (r *record) noteHung(name string, now time.Time, backoff *RestartBackoff) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked, r.live.Failures = true, 0
	r.restart = backoff.Note(name, now)
}

// noteLive takes in one liveness probe and returns what follows. A container that
// nobody has seen ready since its start, as after that of the machine, has until
// its time to become ready is over.
func (r *record) noteLive(ok bool, detail string, now time.Time, declared *spec.Probe, readyTimeout time.Duration) Liveness {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live.Due = now.Add(livenessInterval(declared))
	switch {
	case ok:
		r.live.Failures, r.live.Last, r.guess = 0, "", false
	case r.guess && now.Before(r.proof.Add(readyTimeout)):
	default:
		r.live.Failures, r.live.Last = r.live.Failures+1, detail
	}
	return r.live
}

func (r *record) keepTail(lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(lines) > 0 {
		r.tail = lines
	}
}

func (r *record) proven(started time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proof, r.guess = started, false
}

// noteProbe takes in one probe and returns the readiness that follows.
func (r *record) noteProbe(ok bool, detail string, now time.Time, declared *spec.Probe) Readiness {
	r.mu.Lock()
	defer r.mu.Unlock()
	interval := spec.DefaultProbeInterval
	if declared != nil && declared.Interval > 0 {
		interval = declared.Interval
	}
	if r.ready.Since.IsZero() {
		r.ready.Since = now
	}
	r.ready.Attempts++
	switch {
	case !ok:
		if r.ready.LostAt.IsZero() && !r.ready.ReadySince.IsZero() {
			r.ready.LostAt = now
		}
		r.ready.ReadySince, r.ready.Last = time.Time{}, detail
		r.ready.Due = now.Add(probe.NextDelay(r.ready.Attempts, interval))
	case r.ready.ReadySince.IsZero():
		r.ready.ReadySince = now
		fallthrough
	default:
		r.ready.Last, r.ready.Due = "", now.Add(interval)
	}
	return r.ready
}

// member is the container as a plan sees it.
func (r *record) member(full *docker.ContainerState, now time.Time, t Timing) *Member {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deaths = slices.DeleteFunc(r.deaths, func(d time.Time) bool { return now.Sub(d) >= t.CrashWindow })
	m := &Member{
		Name: full.Name, Member: full.Labels[docker.LabelMember], Role: spec.Role(full.Labels[docker.LabelRole]),
		ID: full.ID, Restarts: full.RestartCount, Live: r.live, ReleaseID: full.Labels[docker.LabelRelease], Status: full.Status,
		ImageID: full.ImageID, Address: full.Address, Created: full.Created, Started: full.Started, Exit: full.Exit, Restart: full.Restart, Ports: full.Ports,
		Ready: r.ready, Deaths: len(r.deaths), RestartAt: r.restart, LastLog: r.tail,
		Recheck: !r.proof.Equal(full.Started),
	}
	return m
}
