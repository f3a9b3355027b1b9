package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/test/load"
)

const (
	// enough answers prove that a change serves.
	enough = 50
	// provenWithin bounds the wait for them.
	provenWithin = 20 * time.Second
	// settling is how late the end of a stream may be noticed.
	settling = 500 * time.Millisecond
	// maxWrong bounds how many wrong answers are told in full.
	maxWrong = 10
)

// span is the time of one change: from begun on its version may answer, from
// served on only its replicas may, until the next one has begun.
type span struct {
	version       string
	begun, served time.Time       // served is zero until the change has succeeded
	replicas      []string        // host names, known once it has
	answers       int             // to requests that began when nothing else might answer
	seen          map[string]bool // who has answered since it has begun
	ended         []string        // replicas whose streams ended while the change was made
}

// line is the order of changes in time. Answers come in some time after they
// were given.
type line struct {
	mu      sync.Mutex
	spans   []span
	wrong   []string
	changed chan struct{} // closed and made anew with every answer
}

func newLine() *line { return &line{changed: make(chan struct{})} }

// begin says that a change is being made after which a version serves.
func (l *line) begin(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = append(l.spans, span{version: version, begun: time.Now(), seen: map[string]bool{}})
}

// serve says that the change has been made, and which replicas alone may answer.
func (l *line) serve(replicas []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.spans[len(l.spans)-1]
	s.served, s.replicas = time.Now(), replicas
	if len(l.spans) == 1 {
		return
	}
	for _, server := range s.ended {
		if slices.Contains(l.spans[len(l.spans)-2].replicas, server) && slices.Contains(replicas, server) {
			l.fault("a stream on replica %s ended, which served before the change to version %s and after it", server, s.version)
		}
	}
}

// answered takes in an answer to a request.
func (l *line) answered(began time.Time, by load.Origin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.told(began, by); s != nil {
		s.answers++
	}
	l.stir()
}

// opened takes in the beginning of an answer that lasts.
func (l *line) opened(began time.Time, by load.Origin) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told(began, by)
	l.stir()
}

// told judges who answers a request, and returns the span that it began in if
// nothing but its replicas might answer then, and one did.
func (l *line) told(began time.Time, by load.Origin) *span {
	i := len(l.spans) - 1
	for i > 0 && began.Before(l.spans[i].begun) {
		i--
	}
	s := &l.spans[i]
	s.seen[by.Server] = true
	alone := !s.served.IsZero() && !began.Before(s.served)
	switch {
	case alone && by.Version == s.version && slices.Contains(s.replicas, by.Server):
		return s
	case alone:
		l.fault("a request that began at %s was answered by %s in version %s, and only %s in version %s serve",
			began.Format("15:04:05.000"), by.Server, by.Version, s.replicas, s.version)
	case by.Version == s.version, i > 0 && by.Version == l.spans[i-1].version:
	default:
		l.fault("a request that began at %s, while version %s took over, was answered by version %s",
			began.Format("15:04:05.000"), s.version, by.Version)
	}
	return nil
}

func (l *line) stir() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *line) fault(format string, args ...any) {
	if len(l.wrong) < maxWrong {
		l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
	}
}

// mayEnd refuses the end of a stream whose replica is one that stays. While a
// change is being made nobody knows, so it is judged once that has succeeded.
func (l *line) mayEnd(by load.Origin) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.spans[len(l.spans)-1]
	switch {
	case s.served.IsZero():
		s.ended = append(s.ended, by.Server)
	case slices.Contains(s.replicas, by.Server) && time.Since(s.served) > settling:
		return fmt.Errorf("it ended although its replica, %s in version %s, was not being replaced", by.Server, by.Version)
	}
	return nil
}

// proven waits until the newest change has shown that it serves.
func (l *line) proven(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, provenWithin)
	defer cancel()
	for {
		lacks, changed := l.lacks()
		if lacks == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("within %s of the change's success: %s", provenWithin, lacks)
		}
	}
}

// lacks says what the newest change has not shown yet: that its replicas answer,
// and that each new one has had a request. More cannot be asked of each: those
// that hold more streams than others get the fewer requests.
func (l *line) lacks() (what string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.spans[len(l.spans)-1]
	if s.answers < enough {
		return fmt.Sprintf("version %s gave %d answers", s.version, s.answers), l.changed
	}
	for _, server := range s.replicas {
		// One that served before, with an earlier version too, is not new: a change
		// back may find it still draining, with the streams that it holds.
		stayed := slices.ContainsFunc(l.spans[:len(l.spans)-1], func(before span) bool { return slices.Contains(before.replicas, server) })
		if !stayed && !s.seen[server] {
			return fmt.Sprintf("replica %s of version %s had no request", server, s.version), l.changed
		}
	}
	return "", nil
}

// faults are what no request may have been told.
func (l *line) faults() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.wrong...)
}
