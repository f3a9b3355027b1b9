package backendtest_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/backend/backendtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a test that writes down how it went instead of failing.
type recorder struct {
	name string
	ctx  context.Context

	mu       sync.Mutex
	said     []string
	failed   bool
	skipped  bool
	cleanups []func()
}

var _ backendtest.T = (*recorder)(nil)

// record runs a case and returns how it went.
func record(ctx context.Context, c backendtest.Case, fx backendtest.Fixture) *recorder {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &recorder{name: c.Name, ctx: ctx}
	r.apart(func() { c.Run(r, fx) })
	for _, f := range slices.Backward(r.cleanups) {
		r.apart(f)
	}
	return r
}

// apart runs f in a goroutine, which Fatalf and Skipf end.
func (r *recorder) apart(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (r *recorder) note(failed, skipped bool, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
	r.failed, r.skipped = r.failed || failed, r.skipped || skipped
}

func (r *recorder) Helper()                           {}
func (r *recorder) Name() string                      { return r.name }
func (r *recorder) Context() context.Context          { return r.ctx }
func (r *recorder) Logf(format string, args ...any)   { r.note(false, false, format, args...) }
func (r *recorder) Errorf(format string, args ...any) { r.note(true, false, format, args...) }

func (r *recorder) Fatalf(format string, args ...any) {
	r.note(true, false, format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, args ...any) {
	r.note(false, true, format, args...)
	runtime.Goexit()
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("failed %t, skipped %t: %s", r.failed, r.skipped, strings.Join(r.said, "; "))
}
