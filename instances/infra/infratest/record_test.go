package infratest_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/instances/infra/infratest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a test that writes down how it went instead of failing. A case uses
// it from one goroutine.
type recorder struct {
	name     string
	ctx      context.Context
	said     []string
	failed   bool
	skipped  bool
	cleanups []func()
}

var _ infratest.T = (*recorder)(nil)

// record runs a case and returns how it went.
func record(ctx context.Context, c infratest.Case, fx infratest.Fixture) *recorder {
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

func (r *recorder) Helper()                  {}
func (r *recorder) Name() string             { return r.name }
func (r *recorder) Context() context.Context { return r.ctx }
func (r *recorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Logf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *recorder) Errorf(format string, args ...any) { r.failed = true; r.Logf(format, args...) }
func (r *recorder) Fatalf(format string, args ...any) { r.Errorf(format, args...); runtime.Goexit() }
func (r *recorder) Skipf(format string, args ...any) {
	r.skipped = true
	r.Logf(format, args...)
	runtime.Goexit()
}
func (r *recorder) String() string { return strings.Join(r.said, "; ") }
