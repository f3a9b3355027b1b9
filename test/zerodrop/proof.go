package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// enough answers of a version prove that it serves.
	enough = 50
	// provenWithin bounds the wait for them.
	provenWithin = 20 * time.Second
	// settling is how late the end of a stream may be noticed.
	settling = 500 * time.Millisecond
	// maxWrong bounds how many wrong answers are told in full.
	maxWrong = 10
)

// span is the time of one version: from begun on it may answer, from served on
// nothing else may, until the next one has begun.
type span struct {
	version       string
	begun, served time.Time // served is zero until its change has succeeded
	answers       int       // to requests that began when nothing else might answer
}

// line is the order of versions in time. Answers come in some time after they
// were given.
type line struct {
	mu      sync.Mutex
	spans   []span
	wrong   []string
	changed chan struct{} // closed and made anew with every answer that counts
}

func newLine() *line { return &line{changed: make(chan struct{})} }

// begin says that a version is about to take over.
func (l *line) begin(version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans = append(l.spans, span{version: version, begun: time.Now()})
}

// serve says that the version taken up last is the only one that may answer.
func (l *line) serve() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spans[len(l.spans)-1].served = time.Now()
}

// answered takes in an answer to a request.
func (l *line) answered(began time.Time, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := len(l.spans) - 1
	for i > 0 && began.Before(l.spans[i].begun) {
		i--
	}
	s := &l.spans[i]
	alone := !s.served.IsZero() && !began.Before(s.served)
	switch {
	case version == s.version && alone:
		s.answers++
		close(l.changed)
		l.changed = make(chan struct{})
	case version == s.version, !alone && i > 0 && version == l.spans[i-1].version:
	case len(l.wrong) < maxWrong:
		l.wrong = append(l.wrong, fmt.Sprintf("a request that began at %s was answered by version %s and not %s",
			began.Format("15:04:05.000"), version, s.version))
	}
}

// mayEnd refuses the end of a stream whose release is the one that stays.
func (l *line) mayEnd(version string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.spans[len(l.spans)-1]
	if s.version == version && !s.served.IsZero() && time.Since(s.served) > settling {
		return fmt.Errorf("it ended although its release, %s, was not being replaced", version)
	}
	return nil
}

// proven waits until the newest version has answered often enough.
func (l *line) proven(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, provenWithin)
	defer cancel()
	for {
		l.mu.Lock()
		s, changed := l.spans[len(l.spans)-1], l.changed
		l.mu.Unlock()
		if s.answers >= enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("version %s gave %d answers within %s of its success", s.version, s.answers, provenWithin)
		}
	}
}

// faults are the answers by a version that no longer, or not yet, might give them.
func (l *line) faults() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.wrong...)
}
