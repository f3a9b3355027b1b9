package logstream

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/berth-cloud/berth/internal/docker/logread"
	"github.com/berth-cloud/berth/provider"
)

// Stream is lines as JSON objects, one a line. Close it when done.
type Stream struct {
	pipe   *io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
	once   sync.Once

	finished atomic.Bool
}

var _ io.ReadCloser = (*Stream)(nil)

// Open begins to read. The stream ends with ctx, with Close, or at the end of
// what there is when the query does not follow.
func Open(ctx context.Context, rt logread.Runtime, q Query) *Stream {
	ctx, cancel := context.WithCancel(ctx)
	reader, writer := io.Pipe()
	s := &Stream{pipe: reader, cancel: cancel, done: make(chan struct{})}
	ended := func() error {
		if s.finished.Load() {
			return io.EOF
		}
		return fmt.Errorf("read logs: %w", context.Cause(ctx))
	}
	stop := context.AfterFunc(ctx, func() { _ = writer.CloseWithError(ended()) })
	go func() {
		defer close(s.done)
		defer stop()
		var buf []byte
		err := logread.Read(ctx, rt, q, func(l line) error {
			var err error
			if buf, err = appendLine(buf[:0], l); err != nil {
				return err
			}
			_, err = writer.Write(buf)
			return err
		})
		switch {
		case err == nil:
			err = io.EOF
		case ctx.Err() != nil:
			err = ended()
		}
		_ = writer.CloseWithError(err)
	}()
	return s
}

// Read implements io.Reader. The end is io.EOF; why else the stream ended is the
// error.
func (s *Stream) Read(p []byte) (int, error) { return s.pipe.Read(p) }

// Close ends the stream and waits for whoever reads for it.
func (s *Stream) Close() error {
	s.once.Do(func() {
		s.cancel()
		_ = s.pipe.Close()
	})
	<-s.done
	return nil
}

// Finish ends the stream as at its end: what it follows is gone. It waits for
// nobody.
func (s *Stream) Finish() {
	s.finished.Store(true)
	s.cancel()
}

// appendLine appends a line as callers read it. Bytes that are no UTF-8 are
// replaced, which may make of one line more than one.
func appendLine(buf []byte, l line) ([]byte, error) {
	text := toValid(l.Text)
	for {
		piece, rest := cut(text)
		var err error
		buf, err = provider.AppendLogLine(buf, provider.LogLine{
			Time: l.Time, Stream: string(l.Stream), Service: l.Origin.Service, Replica: l.Origin.Replica,
			Line: piece, Partial: l.Partial || rest != "",
		})
		if err != nil || rest == "" {
			return buf, err
		}
		text = rest
	}
}

// cut takes off as much of a text as one line may hold.
func cut(text string) (piece, rest string) {
	if len(text) <= provider.MaxLogLine {
		return text, ""
	}
	end := provider.MaxLogLine
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], text[end:]
}

func toValid(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text)) // one replacement for each bad byte
}
