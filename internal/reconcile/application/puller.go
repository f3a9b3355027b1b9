package application

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// Puller fetches images beside the passes, each once for a service at a time.
// When a fetch ends it wakes the service.
type Puller struct {
	now     func() time.Time
	wake    func(service string)
	Timeout time.Duration // of one fetch; 10 minutes by default
	// Spawn runs the fetch; a goroutine by default.
	Spawn  func(func())
	Logger *slog.Logger

	mu    sync.Mutex
	pulls map[pullKey]*pull
	wg    sync.WaitGroup
}

type pullKey struct{ service, ref string }

type pull struct {
	attempt  int64
	cancel   context.CancelFunc
	done     bool
	failure  Reason
	detail   string
	progress string
}

// NewPuller builds a puller; wake may be nil.
func NewPuller(now func() time.Time, wake func(service string)) *Puller {
	if wake == nil {
		wake = func(string) {}
	}
	p := &Puller{now: now, wake: wake, Timeout: 10 * time.Minute, pulls: map[pullKey]*pull{}, Logger: slog.New(slog.DiscardHandler)}
	p.Spawn = func(f func()) { p.wg.Go(f) }
	return p
}

// State is how far the fetch of an image for a service's attempt is.
func (p *Puller) State(service string, attempt int64, ref string) ImageState {
	p.mu.Lock()
	defer p.mu.Unlock()
	pl := p.pulls[pullKey{service, ref}]
	switch {
	case pl == nil || pl.attempt != attempt:
		return ImageState{}
	case !pl.done:
		return ImageState{Pulling: true, Progress: pl.progress}
	}
	return ImageState{Failure: pl.failure, FailureDetail: pl.detail}
}

// Start begins to fetch ref to an engine for an attempt; fetches for an earlier one end.
// auth may be nil.
func (p *Puller) Start(rt docker.Runtime, service string, attempt int64, ref string, auth *docker.RegistryAuth) {
	ctx, cancel := context.WithTimeout(context.Background(), p.Timeout)
	key := pullKey{service, ref}
	p.mu.Lock()
	for k, old := range p.pulls {
		if k.service == service && old.attempt != attempt {
			old.cancel()
			delete(p.pulls, k)
		}
	}
	if old := p.pulls[key]; old != nil && !old.done {
		p.mu.Unlock()
		cancel()
		return
	}
	pl := &pull{attempt: attempt, cancel: cancel, progress: "pulling " + ref}
	p.pulls[key] = pl
	p.mu.Unlock()
	p.Spawn(func() {
		defer cancel()
		err := rt.Pull(ctx, ref, auth, func(pr docker.PullProgress) { p.note(pl, ref, pr) })
		p.finish(key, pl, err)
	})
}

func (p *Puller) note(pl *pull, ref string, pr docker.PullProgress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pl.progress = fmt.Sprintf("pulling %s: %s %s", ref, pr.Layer, pr.Status)
}

func (p *Puller) finish(key pullKey, pl *pull, err error) {
	p.mu.Lock()
	current := p.pulls[key] == pl
	switch {
	case err == nil:
		if current {
			delete(p.pulls, key)
		}
	default:
		pl.done = true
		pl.failure, pl.detail = pullFailure(key.ref, err, p.Timeout)
	}
	p.mu.Unlock()
	if err != nil {
		p.Logger.Warn("image could not be fetched", "service", key.service, "image", key.ref, "error", err)
	}
	p.wake(key.service)
}

func pullFailure(ref string, err error, timeout time.Duration) (Reason, string) {
	switch {
	case docker.IsImageNotFound(err):
		return ReasonImageNotFound, fmt.Sprintf("image %s is neither on the engine nor in its registry; check the name and the tag, or load it on this machine: %v", ref, err)
	case errors.Is(err, docker.ErrUnauthorized):
		return ReasonImageDenied, fmt.Sprintf("the registry of image %s refused access: %v", ref, err)
	case errors.Is(err, context.DeadlineExceeded):
		return ReasonImagePullFailed, fmt.Sprintf("image %s did not arrive within %s", ref, timeout)
	}
	return ReasonImagePullFailed, fmt.Sprintf("image %s could not be fetched: %v", ref, err)
}

// Running counts the fetches of some services that are under way.
func (p *Puller) Running(of func(service string) bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for k, pl := range p.pulls {
		if !pl.done && of(k.service) {
			n++
		}
	}
	return n
}

// Forget drops failed fetches, so that the next pass may try again.
func (p *Puller) Forget(service string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, pl := range p.pulls {
		if k.service == service && pl.done {
			delete(p.pulls, k)
		}
	}
}

// Drop ends the fetches of a service that is no longer there, and forgets them.
func (p *Puller) Drop(service string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, pl := range p.pulls {
		if k.service == service {
			pl.cancel()
			delete(p.pulls, k)
		}
	}
}

// Close ends all fetches and waits for them.
func (p *Puller) Close() {
	p.mu.Lock()
	for _, pl := range p.pulls {
		pl.cancel()
	}
	p.mu.Unlock()
	p.wg.Wait()
}
