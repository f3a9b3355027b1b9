package application

import (
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/store"
)

// Memory is what passes remember beside the store: what probing showed, how
// often containers crashed, which effects were refused. Everything in it is
// checked against the live containers again and may be lost at any time; a
// restart of the control plane costs at most one more look.
//
// One Memory is shared by all controllers.
type Memory struct {
	backoff *RestartBackoff

	mu       sync.Mutex
	services map[string]*serviceMemory
}

// NewMemory builds an empty memory. backoff delays restarts of crashing
// containers and retries of first deploys; nil takes the default.
func NewMemory(backoff *RestartBackoff) *Memory {
	if backoff == nil {
		backoff = NewRestartBackoff(time.Second, 5*time.Minute, 2*time.Minute)
	}
	return &Memory{backoff: backoff, services: map[string]*serviceMemory{}}
}

type serviceMemory struct {
	records  map[string]*record // by container id
	releases map[string]*store.Release
	attempt  *store.Attempt // settled, with this service's part only
	failure  *Failure
	failedAt int64 // the attempt that failure belongs to
	retry    time.Time
	errors   int     // passes in a row that an effect ended
	written  written // the release made last
	waiting  bool    // for a service that it depends on
	clean    bool    // addresses were compared with containers since the last effect
	noFiles  bool    // the engine has no volume with files of its containers
}

// written is the release that was made for an attempt. One that has failed
// already takes no note of it.
type written struct {
	attempt int64
	release string
}

// of returns a service's memory; the lock is held.
func (m *Memory) of(service string) *serviceMemory {
	s := m.services[service]
	if s == nil {
		s = &serviceMemory{records: map[string]*record{}, releases: map[string]*store.Release{}}
		m.services[service] = s
	}
	return s
}

func (m *Memory) forget(service string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.services, service)
}

// Touch makes the next pass look closer at a container: something happened to it.
func (m *Memory) Touch(service, containerID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.services[service]; s != nil {
		if rec := s.records[containerID]; rec != nil {
			rec.markStale()
		}
	}
}

// TouchService makes the next pass look closer at every container of a service.
func (m *Memory) TouchService(service string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.services[service]; s != nil {
		for _, rec := range s.records {
			rec.markStale()
		}
	}
}

// TouchAll makes the next passes look closer at every container: events may
// have been missed.
func (m *Memory) TouchAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.services {
		for _, rec := range s.records {
			rec.markStale()
		}
	}
}

func (m *Memory) record(service, id string) *record {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of(service)
	rec := s.records[id]
	if rec == nil {
		rec = &record{}
		s.records[id] = rec
	}
	return rec
}

// prune drops records of containers that are gone.
func (m *Memory) prune(service string, ids map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of(service)
	for id := range s.records {
		if !ids[id] {
			delete(s.records, id)
		}
	}
}

// maxReleases bounds the cached releases of one service.
const maxReleases = 4

func (m *Memory) release(service, id string) *store.Release {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(service).releases[id]
}

func (m *Memory) keepRelease(service string, r *store.Release) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of(service)
	if len(s.releases) >= maxReleases {
		clear(s.releases)
	}
	s.releases[r.ID] = r
}

func (m *Memory) settledAttempt(service string, id int64) (store.Attempt, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.of(service).attempt; a != nil && a.ID == id {
		return *a, true
	}
	return store.Attempt{}, false
}

func (m *Memory) keepAttempt(service string, a store.Attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(service).attempt = &a
}

func (m *Memory) failure(service string, attempt int64) *Failure {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.of(service); s.failedAt == attempt {
		return s.failure
	}
	return nil
}

func (m *Memory) noteFailure(service string, attempt int64, f *Failure) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of(service)
	s.failure, s.failedAt = f, attempt
}

func (m *Memory) retryAt(service string) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(service).retry
}

// noteRetry lets a service whose first deploy failed try again later.
func (m *Memory) noteRetry(service string, now time.Time) {
	at := m.backoff.Note("retry/"+service, now)
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of(service)
	s.retry, s.failure = at, nil
}

// noteError counts passes in a row that an effect ended.
func (m *Memory) noteError(service string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of(service)
	s.errors++
	return s.errors
}

func (m *Memory) forgetErrors(service string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(service).errors = 0
}

func (m *Memory) noteWritten(service string, attempt int64, release string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(service).written = written{attempt, release}
}

// writtenFor is the release that was made for an attempt, or "".
func (m *Memory) writtenFor(service string, attempt int64) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.of(service).written; w.attempt == attempt {
		return w.release
	}
	return ""
}

func (m *Memory) noteWaiting(service string, waiting bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(service).waiting = waiting
}

// Waiting are the services that wait for others they depend on.
func (m *Memory) Waiting() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for name, s := range m.services {
		if s.waiting {
			out = append(out, name)
		}
	}
	return out
}

func (m *Memory) hasNoFiles(service string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of(service).noFiles
}

func (m *Memory) noteFiles(service string, any bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(service).noFiles = !any
}

func (m *Memory) takeDirty(service string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.of(service)
	dirty := !s.clean
	s.clean = true
	return dirty
}

func (m *Memory) markDirty(service string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of(service).clean = false
}
