package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"
)

// Subscribe follows a stream of events until the stream or ctx ends. It calls
// ready once the stream is established, so that from then on no event is missed,
// and emit with the key of each event. Neither blocks.
type Subscribe func(ctx context.Context, ready func(), emit func(Key)) error

// watchCeiling bounds the wait for a next subscription, and is how long one must
// live to count as a success. A try costs next to nothing, and until one succeeds
// a container that ended together with the engine stays down.
const watchCeiling = 2 * time.Second

var errStreamEnded = errors.New("the stream ended")

// ErrTold is in an error of which the log has been told already, as that of a source that
// many passes wait for: the engine says it at the level of debugging alone.
var ErrTold = errors.New("waited for")

func levelOf(err error) slog.Level {
	if errors.Is(err, ErrTold) {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// Watch keeps a subscription alive until ctx ends. Each event is a
// [Engine.Kick]. Whenever the subscription was established, also for the first
// time, resync is called, as events may have been missed before: subscribe
// first, then list. nil means [Engine.Resync]. A subscription that ends, with or
// without an error, is made again after a wait as Config.Backoff says, of two
// seconds at most, which starts anew once a subscription has lived for as long.
//
// name says in the log what is watched. Watch returns when ctx has ended and
// subscribe has returned.
func (e *Engine) Watch(ctx context.Context, name string, subscribe Subscribe, resync func()) {
	if resync == nil {
		resync = e.Resync
	}
	for failures := 1; ; failures++ {
		lived, err := e.subscribe(ctx, subscribe, resync)
		if ctx.Err() != nil {
			return
		}
		if lived >= watchCeiling {
			failures = 1
		}
		wait := min(e.cfg.Backoff.Delay(failures), watchCeiling)
		if failures&(failures-1) == 0 { // ever more seldom, so that a long absence fills no log
			e.log.Log(ctx, levelOf(err), "a subscription ended", "watch", name, "lived", lived, "failures", failures, "again_in", wait, "err", err)
		}
		if !sleep(ctx, wait) {
			return
		}
	}
}

// subscribe makes one subscription and returns how long it was established.
func (e *Engine) subscribe(ctx context.Context, subscribe Subscribe, resync func()) (time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // what the subscription left behind ends with it
	var since atomic.Int64
	err := guard(func() error {
		return subscribe(ctx, func() {
			if since.CompareAndSwap(0, int64(e.clock())) {
				resync()
			}
		}, e.Kick)
	})
	if err == nil {
		err = errStreamEnded
	}
	if since.Load() == 0 {
		return 0, err
	}
	return e.clock() - time.Duration(since.Load()), err
}

// sleep waits and returns false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
