package daemon

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker/engine"
)

// Presence follows whether somebody is there whom a daemon needs, by what its own
// connection to him sees. It is said in the log when that changes, and not again. It is
// safe for concurrent use; the zero value is of no use, see NewPresence.
type Presence struct {
	gone func(ctx context.Context, err error)
	back func(ctx context.Context)

	mu    sync.Mutex
	state presence
	err   error // why nobody is there
}

type presence int

const (
	unknown presence = iota
	absent
	there
)

// NewPresence is that of somebody of whom nothing is known yet. gone and back tell the log
// of a change.
func NewPresence(gone func(ctx context.Context, err error), back func(ctx context.Context)) *Presence {
	return &Presence{gone: gone, back: back}
}

// FollowEngine is the presence of the Docker engine at an address; setting is where that is
// written.
func FollowEngine(address, setting string, logger *slog.Logger) *Presence {
	if address == "" {
		address = engine.DefaultHost
	}
	return NewPresence(func(ctx context.Context, err error) {
		logger.WarnContext(ctx, "the Docker engine is not reachable; nothing is changed until it is", "engine", address, "error", err,
			"do", "start it (systemctl start docker) and see that this user may open its socket, or write the address of another one: "+setting)
	}, func(ctx context.Context) { logger.InfoContext(ctx, "the Docker engine answers", "engine", address) })
}

// There says that he answers.
func (p *Presence) There(ctx context.Context) {
	if before := p.set(there, nil); before == absent {
		p.back(ctx)
	}
}

// Gone says that he does not, and why. What ended because the caller did says nothing.
func (p *Presence) Gone(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if before := p.set(absent, err); before != absent {
		p.gone(ctx, err)
	}
}

func (p *Presence) set(now presence, err error) (before presence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.state, p.err = p.state, now, err
	return before
}

// Expect takes him for gone, with err as the reason, if nothing was heard of him for that
// long. It returns then, or with ctx.
func (p *Presence) Expect(ctx context.Context, within time.Duration, err error) {
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return
	case <-late.C:
	}
	p.mu.Lock()
	nothing := p.state == unknown
	p.mu.Unlock()
	if nothing {
		p.Gone(ctx, err)
	}
}

// Absent is why he is not there; nil while he is, or nothing is known.
func (p *Presence) Absent() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
