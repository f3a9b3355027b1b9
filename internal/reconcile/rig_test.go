package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errBroken = errors.New("broken")

// work is what a key does in a pass.
type work func(ctx context.Context, key Key) (Result, error)

type worker struct {
	key  Key
	work work
}

var _ Controller = (*worker)(nil)

func (w *worker) Name() string { return w.key.String() }

func (w *worker) Reconcile(ctx context.Context) (Result, error) { return w.work(ctx, w.key) }

// rig is an engine in a bubble, with a record of every pass.
type rig struct {
	*Engine
	t     *testing.T
	began time.Time
	stop  context.CancelFunc
	done  chan error

	mu      sync.Mutex
	starts  map[Key][]time.Duration
	running map[Key]int
	most    int // passes at once, at any time
	twice   []Key
	results []Outcome
}

// newRig builds an engine whose keys do w; it does not run yet. Backoff has no
// random part unless cfg says so.
func newRig(t *testing.T, cfg Config, w work) *rig {
	t.Helper()
	r := &rig{t: t, began: time.Now(), starts: map[Key][]time.Duration{}, running: map[Key]int{}}
	if cfg.Backoff.Rand == nil {
		cfg.Backoff.Rand = func() float64 { return 0 }
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	cfg.Strict = true
	hook := cfg.OnResult
	cfg.OnResult = func(o Outcome) {
		r.mu.Lock()
		r.results = append(r.results, o)
		r.mu.Unlock()
		if hook != nil {
			hook(o)
		}
	}
	r.Engine = New(func(_ context.Context, key Key) (Controller, error) {
		return &worker{key: key, work: r.record(w)}, nil
	}, cfg)
	return r
}

func (r *rig) record(w work) work {
	return func(ctx context.Context, key Key) (Result, error) {
		r.mu.Lock()
		r.starts[key] = append(r.starts[key], time.Since(r.began))
		r.running[key]++
		if r.running[key] > 1 {
			r.twice = append(r.twice, key)
		}
		r.most = max(r.most, len(r.running))
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			if r.running[key]--; r.running[key] == 0 {
				delete(r.running, key)
			}
			r.mu.Unlock()
		}()
		return w(ctx, key)
	}
}

// start runs the engine until the test ends or halt is called.
func (r *rig) start() *rig {
	ctx, cancel := context.WithCancel(r.t.Context())
	r.stop, r.done = cancel, make(chan error, 1)
	go func() {
		defer close(r.done)
		r.done <- r.Run(ctx)
	}()
	r.t.Cleanup(r.halt)
	synctest.Wait()
	return r
}

// halt ends the engine and waits for it; the end of the test does it too.
func (r *rig) halt() {
	r.t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Errorf("Run returned %v", err)
	}
	if len(r.twice) > 0 {
		r.t.Errorf("keys ran twice at once: %v", r.twice)
	}
}

// sleep lets virtual time pass until everything due then has been done.
func (r *rig) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func (r *rig) passes(key Key) []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]time.Duration(nil), r.starts[key]...)
}

func (r *rig) wantPasses(key Key, n int) {
	r.t.Helper()
	if got := r.passes(key); len(got) != n {
		r.t.Fatalf("%s ran %d times, at %v, want %d times", key, len(got), got, n)
	}
}

func (r *rig) wantTimes(key Key, want ...time.Duration) {
	r.t.Helper()
	got := r.passes(key)
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i].Round(time.Millisecond) == want[i]
	}
	if !same {
		r.t.Fatalf("%s ran at %v, want %v", key, got, want)
	}
}

// take is a work that takes d, or less when it is cancelled.
func take(d time.Duration) work {
	return func(ctx context.Context, _ Key) (Result, error) {
		if !sleep(ctx, d) {
			return Result{}, ctx.Err()
		}
		return Result{}, nil
	}
}

func rest(context.Context, Key) (Result, error) { return Result{}, nil }

func broken(context.Context, Key) (Result, error) { return Result{}, errBroken }

var web, db = Key{"application", "web"}, Key{"application", "db"}
