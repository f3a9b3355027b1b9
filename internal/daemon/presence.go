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
	logger     *slog.Logger
	gone, back string // what the log says
	advice     []any  // goes with gone

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

// NewPresence is that of somebody of whom nothing is known yet. gone and back are the
// words of the log, advice what goes with the first.
func NewPresence(logger *slog.Logger, gone, back string, advice ...any) *Presence {
	return &Presence{logger: logger, gone: gone, back: back, advice: advice}
}

// FollowEngine is the presence of the Docker engine at an address, without which what is
// named stays as it is. setting is where the address is written.
func FollowEngine(address, what, setting string, logger *slog.Logger) *Presence {
	if address == "" {
		address = engine.DefaultHost
	}
	return NewPresence(logger, "the Docker engine is not reachable; "+what+" stay as they are until it is", "the Docker engine answers", "engine", address,
		"do", "start it (systemctl start docker) and see that this user may open its socket, or write the address of another one: "+setting)
}

// There says that he answers.
func (p *Presence) There(ctx context.Context) {
	if before := p.set(there, nil); before == absent {
		p.logger.InfoContext(ctx, p.back)
	}
}

// Gone says that he does not, and why. What ended because the caller did says nothing.
func (p *Presence) Gone(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if before := p.set(absent, err); before != absent {
		p.logger.WarnContext(ctx, p.gone, append([]any{"error", err}, p.advice...)...)
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
