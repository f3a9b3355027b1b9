package dockerprovider

import (
	"io"
	"sync"

	"github.com/berth-cloud/berth/id"
)

// openLogs are the log streams that callers hold, by workload: they end with it.
type openLogs struct {
	mu   sync.Mutex
	held map[id.ID]map[*heldLog]struct{}
}

// heldLog is a stream that a caller holds.
type heldLog struct {
	io.ReadCloser
	finish func() // ends the stream as at its end
	left   func()
}

// Close implements io.Closer.
func (h *heldLog) Close() error {
	h.left()
	return h.ReadCloser.Close()
}

func (o *openLogs) add(workload id.ID, stream io.ReadCloser, finish func()) io.ReadCloser {
	h := &heldLog{ReadCloser: stream, finish: finish}
	h.left = func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.held[workload], h)
		if len(o.held[workload]) == 0 {
			delete(o.held, workload)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil {
		o.held = map[id.ID]map[*heldLog]struct{}{}
	}
	if o.held[workload] == nil {
		o.held[workload] = map[*heldLog]struct{}{}
	}
	o.held[workload][h] = struct{}{}
	return h
}

// end ends every stream of a workload that is gone.
func (o *openLogs) end(workload id.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for h := range o.held[workload] {
		h.finish()
	}
	delete(o.held, workload)
}
