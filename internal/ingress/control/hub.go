package control

import (
	"context"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

const (
	// calmEvery is how often mere counts of targets in use are reported.
	calmEvery = 500 * time.Millisecond
	// urgentEvery bounds the reports of what somebody waits for.
	urgentEvery = 5 * time.Millisecond
	// maxStreams bounds the readers; two owners have one each.
	maxStreams = 32
)

// hub makes one report for all streams whenever something changed. A stream
// that reads slowly misses reports in between and gets the newest. While there
// is no stream it does nothing.
type hub struct {
	plane *Plane

	mu      sync.Mutex
	streams map[chan table.Report]struct{}
	first   chan struct{} // a token when a stream came
}

func newHub(p *Plane) *hub {
	return &hub{plane: p, streams: map[chan table.Report]struct{}{}, first: make(chan struct{}, 1)}
}

// join is a new stream, nil when there are too many. Its first report is sent
// at once.
func (h *hub) join() chan table.Report {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) >= maxStreams {
		return nil
	}
	ch := make(chan table.Report, 1)
	ch <- h.plane.Report()
	h.streams[ch] = struct{}{}
	select {
	case h.first <- struct{}{}:
	default:
	}
	return ch
}

func (h *hub) leave(ch chan table.Report) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, ch)
}

func (h *hub) empty() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.streams) == 0
}

// run serves the streams until ctx ends.
func (h *hub) run(ctx context.Context) {
	for {
		if h.empty() {
			select {
			case <-ctx.Done():
				return
			case <-h.first:
				h.send() // a change just before it joined may have been missed
			}
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-h.first:
			continue
		case <-h.plane.traffic.Changed():
		}
		if !h.settle(ctx) {
			return
		}
		h.send()
	}
}

// settle lets changes gather: urgent ones hardly, others for calmEvery.
func (h *hub) settle(ctx context.Context) bool {
	timer := time.NewTimer(calmEvery)
	defer timer.Stop()
	for !h.plane.traffic.ChangeIsUrgent() {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case <-h.plane.traffic.Changed():
		}
	}
	timer.Reset(urgentEvery)
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// send gives every stream the newest report in place of one it has not read.
func (h *hub) send() {
	h.plane.traffic.Seen()
	rep := h.plane.Report()
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.streams {
		select {
		case <-ch:
		default:
		}
		ch <- rep // the only sender; there is room
	}
}
