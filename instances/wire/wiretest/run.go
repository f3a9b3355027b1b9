package wiretest

import (
	"context"
	"sync"
	"testing"

	"github.com/berth-cloud/berth/instances/agent"
)

// RunAgent runs an agent until stop is called, or the test ends.
func RunAgent(t testing.TB, cfg agent.Config) (stop func()) {
	t.Helper()
	a, err := agent.New(cfg)
	must(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := a.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// Log is what goroutines of a test write to, and the test reads.
type Log struct {
	mu  sync.Mutex
	buf []byte
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	return len(p), nil
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf)
}
