package providertest

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// readLogs reads a stream to its end and calls f with every line.
func readLogs(stream io.Reader, f func(provider.LogLine)) error {
	for l, err := range provider.DecodeLogs(stream) {
		if err != nil {
			return err
		}
		f(l)
	}
	return nil
}

// logs reads logs to their present end.
func (e *env) logs(instance id.ID, opts provider.LogOptions) []provider.LogLine {
	e.Helper()
	stream, err := e.Provider.Logs(e.ctx, instance, opts)
	e.must(err, "Logs")
	defer stream.Close()
	var all []provider.LogLine
	e.must(readLogs(stream, func(l provider.LogLine) { all = append(all, l) }), "read the logs")
	return all
}

// logsWith reads logs until they hold a line, which a moment ago was written.
func (e *env) logsWith(instance id.ID, opts provider.LogOptions, text string) []provider.LogLine {
	e.Helper()
	var all []provider.LogLine
	if !e.Wait(func() bool { all = e.logs(instance, opts); return has(all, text) || e.ctx.Err() != nil }) {
		e.Fatalf("the logs never held %q: %q", text, texts(all))
	}
	return all
}

func has(all []provider.LogLine, text string) bool {
	return slices.ContainsFunc(all, func(l provider.LogLine) bool { return l.Line == text })
}

func texts(all []provider.LogLine) []string {
	out := make([]string, len(all))
	for i, l := range all {
		out[i] = l.Line
	}
	return out
}

// follower reads a stream that does not end by itself.
type follower struct {
	stream io.ReadCloser
	cancel context.CancelFunc
	done   chan struct{}

	mu  sync.Mutex
	all []provider.LogLine
	err error
}

func (e *env) follow(instance id.ID, opts provider.LogOptions) *follower {
	e.Helper()
	opts.Follow = true
	ctx, cancel := context.WithCancel(e.ctx)
	stream, err := e.Provider.Logs(ctx, instance, opts)
	if err != nil {
		cancel()
		e.Fatalf("Logs: %v", err)
	}
	f := &follower{stream: stream, cancel: cancel, done: make(chan struct{})}
	e.Cleanup(func() { cancel(); _ = stream.Close(); <-f.done })
	go func() {
		defer close(f.done)
		err := readLogs(stream, func(l provider.LogLine) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.all = append(f.all, l)
		})
		f.mu.Lock()
		defer f.mu.Unlock()
		f.err = err
	}()
	return f
}

func (f *follower) lines() []provider.LogLine {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all)
}

// sees waits until the stream brought a line.
func (e *env) sees(f *follower, text string) {
	e.Helper()
	if !e.Wait(func() bool { e.step(); return has(f.lines(), text) || e.ctx.Err() != nil }) || e.ctx.Err() != nil {
		e.Fatalf("the stream never brought %q, but %q", text, texts(f.lines()))
	}
}

// ends waits for the end of the stream.
func (e *env) ends(f *follower, after string) {
	e.Helper()
	ended := func() bool {
		select {
		case <-f.done:
			return true
		default:
			return false
		}
	}
	if !e.Wait(func() bool { return ended() || e.ctx.Err() != nil }) || !ended() {
		e.Errorf("the stream does not end after %s", after)
	}
}
