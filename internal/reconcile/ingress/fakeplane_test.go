package ingress

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/ingress/table"
	"github.com/berth-cloud/berth/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errAway = errors.New("nobody answers")

// fakePlane takes tables and gives the reports that a test feeds it.
type fakePlane struct {
	epoch  string
	feed   chan table.Report // closed: the stream breaks
	during func()            // runs within a push, after the table was taken
	fail   error             // what a push ends with instead

	mu     sync.Mutex
	pushed []table.Table
	opened int // streams of reports
}

var _ Plane = (*fakePlane)(nil)

func (p *fakePlane) Push(_ context.Context, t table.Table) (table.Ack, error) {
	if p.fail != nil {
		return table.Ack{}, p.fail
	}
	p.mu.Lock()
	p.pushed = append(p.pushed, t)
	p.mu.Unlock()
	if p.during != nil {
		p.during()
	}
	return table.Ack{Epoch: p.epoch, Owner: t.Owner, Version: t.Version}, nil
}

func (p *fakePlane) Reports(ctx context.Context, each func(table.Report) error) error {
	p.mu.Lock()
	p.opened++
	feed := p.feed
	p.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case r, open := <-feed:
			if !open {
				return errAway
			}
			if err := each(r); err != nil {
				return err
			}
		}
	}
}

func (p *fakePlane) versions() []int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []int64
	for _, t := range p.pushed {
		out = append(out, t.Version)
	}
	return out
}

// heard is what a link or a pusher told others, in order.
type heard struct {
	mu   sync.Mutex
	said []string
}

func (h *heard) say(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.said = append(h.said, what)
}

// since returns what was said since it was last called, sorted.
func (h *heard) since() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.said
	h.said = nil
	slices.Sort(out)
	return out
}

// newLink is a link that is told reports by the test itself, with take.
func newLink(p Plane, h *heard) *Link {
	return NewLink(p, slog.New(slog.DiscardHandler), func(s string) { h.say("wake " + s) }, func() { h.say("push") }, func() { h.say("lost") })
}

// report is one of the server's table at that version.
func report(epoch string, version int64, targets ...table.TargetReport) table.Report {
	r := table.Report{Epoch: epoch, Targets: targets, Versions: map[table.Owner]int64{}}
	if version > 0 {
		r.Versions[table.OwnerServer] = version
	}
	return r
}

func target(id string, inFlight int, draining bool) table.TargetReport {
	return table.TargetReport{ID: id, Service: "of-" + id, InFlight: inFlight, Draining: draining}
}

type fakeRoutes struct {
	state store.RouteState
	err   error
}

func (f *fakeRoutes) Routes(context.Context) (store.RouteState, error) { return f.state, f.err }

// set makes the store's routes those of services at versions; the newest is
// the table's.
func (f *fakeRoutes) set(versions map[string]int64) {
	f.state = store.RouteState{}
	for service, v := range versions {
		f.state.Active = append(f.state.Active, store.ActiveRelease{Service: service, Version: v})
		f.state.Version = max(f.state.Version, v)
	}
}
