package memory

import (
	"bytes"
	"strings"
	"sync"

	"github.com/berth-cloud/berth/provider"
)

// logbook is what a container printed: the last maxLines lines.
type logbook struct {
	mu      sync.Mutex
	lines   []provider.LogLine
	dropped int // before lines[0]
}

const maxLines = 20_000

func (b *logbook) add(line provider.LogLine) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.lines) >= maxLines {
		drop := maxLines / 10
		b.lines = append([]provider.LogLine(nil), b.lines[drop:]...)
		b.dropped += drop
	}
	b.lines = append(b.lines, line)
}

// from are the lines from a number on, and the number of the next one.
func (b *logbook) from(n int) ([]provider.LogLine, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := max(n-b.dropped, 0)
	return append([]provider.LogLine(nil), b.lines[first:]...), b.dropped + len(b.lines)
}

// last is the last line that is not empty, of standard error when there is one.
func (b *logbook) last() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var last string
	for _, l := range b.lines {
		if strings.TrimSpace(l.Line) != "" {
			last = l.Line
		}
	}
	return last
}

// lineWriter makes lines of what is written to a stream.
type lineWriter struct {
	container *container
	stream    string
	mu        sync.Mutex
	rest      []byte
}

func (b *logbook) stream(o *container, stream string) *lineWriter {
	return &lineWriter{container: o, stream: stream}
}

// Write implements io.Writer.
func (w *lineWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	w.rest = append(w.rest, data...)
	for {
		end := bytes.IndexByte(w.rest, '\n')
		switch {
		case end >= 0 && end <= provider.MaxLogLine:
			w.emit(end, false)
			w.rest = w.rest[1:]
		case len(w.rest) > provider.MaxLogLine:
			w.emit(provider.MaxLogLine, true)
		default:
			w.mu.Unlock()
			w.container.cluster.mu.Lock()
			defer w.container.cluster.mu.Unlock()
			w.container.cluster.signalLocked(w.container.instance)
			return len(data), nil
		}
	}
}

// emit makes a line of the first n bytes.
func (w *lineWriter) emit(n int, partial bool) {
	o := w.container
	o.log.add(provider.LogLine{
		Time: o.cluster.now().UTC(), Stream: w.stream, Service: o.service, Replica: o.group.replica,
		Line: strings.ToValidUTF8(string(w.rest[:n]), "\uFFFD"), Partial: partial,
	})
	w.rest = w.rest[n:]
}

func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		w.emit(len(w.rest), false)
	}
}
