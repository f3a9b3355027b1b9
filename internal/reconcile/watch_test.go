package reconcile

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// stream is a scripted source of events.
type stream struct {
	at    []time.Duration // when each subscription was made
	began time.Time
	lives []time.Duration // how long each lives, the last for ever; negative: it fails before it is ready
}

func (s *stream) subscribe(ctx context.Context, ready func(), emit func(Key)) error {
	s.at = append(s.at, time.Since(s.began).Round(time.Millisecond))
	if len(s.at) > len(s.lives) {
		ready()
		<-ctx.Done()
		return ctx.Err()
	}
	life := s.lives[len(s.at)-1]
	if life < 0 {
		return errBroken
	}
	ready()
	ready() // once counts
	emit(web)
	sleep(ctx, life)
	return nil
}

func (r *rig) watch(s *stream, resync func()) (ended chan struct{}) {
	s.began = time.Now()
	ended = make(chan struct{})
	ctx, cancel := context.WithCancel(r.t.Context())
	stop := r.stop
	r.stop = func() { stop(); cancel() }
	go func() {
		defer close(ended)
		r.Watch(ctx, "test", s.subscribe, resync)
	}()
	return ended
}

func TestAWatchKicksTheKeysOfItsEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, rest).start()
		ended := r.watch(&stream{lives: []time.Duration{time.Hour}}, nil)
		synctest.Wait()
		r.wantPasses(web, 1)
		r.halt()
		<-ended
	})
}

func TestAWatchSubscribesAgainWithBackoffAndResyncsAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resyncs := 0
		r := newRig(t, Config{Backoff: Backoff{Base: time.Second, Ceiling: 10 * time.Second}}, rest).start()
		s := &stream{lives: []time.Duration{0, -1, -1, 30 * time.Second, 0}}
		ended := r.watch(s, func() { resyncs++ })
		r.sleep(5 * time.Minute)
		want := []time.Duration{0, 1 * time.Second, 3 * time.Second, 5 * time.Second, // 1, 2 and again 2 s between
			36 * time.Second, // one that lived long: from the start
			38 * time.Second} // and its successor ended at once
		if len(s.at) != len(want) {
			t.Fatalf("subscribed at %v, want %v", s.at, want)
		}
		for i := range want {
			if s.at[i] != want[i] {
				t.Fatalf("subscribed at %v, want %v", s.at, want)
			}
		}
		if resyncs != 4 { // those that became ready
			t.Errorf("%d resyncs, want 4", resyncs)
		}
		r.halt()
		<-ended
	})
}

func TestHoweverLongItWasGoneAWatchComesBackWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{List: listOf(db), ResyncInterval: -1, Backoff: Backoff{Base: 100 * time.Millisecond, Ceiling: 30 * time.Second}}, rest).start()
		r.wantPasses(db, 1)
		back := time.Now().Add(time.Hour)
		seen := time.Time{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Watch(ctx, "test", func(ctx context.Context, ready func(), _ func(Key)) error {
				if time.Now().Before(back) {
					return errBroken
				}
				seen = time.Now()
				ready()
				<-ctx.Done()
				return ctx.Err()
			}, nil)
		}()
		r.sleep(time.Hour + watchCeiling)
		r.wantPasses(db, 2)
		if late := seen.Sub(back); seen.IsZero() || late > watchCeiling {
			t.Errorf("subscribed %v after the source was back, want within %v", late, watchCeiling)
		}
		cancel()
		<-ended
		r.halt()
	})
}

func TestAWatchResyncsTheEngineWhenNothingElseIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{List: listOf(db), ResyncInterval: -1}, rest).start()
		r.wantPasses(db, 1)
		r.sleep(time.Second)
		ended := r.watch(&stream{}, nil)
		synctest.Wait()
		r.wantPasses(db, 2)
		r.halt()
		<-ended
	})
}

func TestAWatchSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{}, rest).start()
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Watch(ctx, "test", func(ctx context.Context, ready func(), _ func(Key)) error {
				if calls++; calls == 1 {
					panic("stream")
				}
				<-ctx.Done()
				return nil
			}, nil)
		}()
		r.sleep(time.Minute)
		if calls != 2 {
			t.Errorf("%d subscriptions, want 2", calls)
		}
		cancel()
		<-ended
		r.halt()
	})
}

func TestAWatchEndsWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Config{Backoff: Backoff{Base: time.Minute}}, rest).start()
		ended := r.watch(&stream{lives: []time.Duration{-1}}, nil)
		r.sleep(watchCeiling / 4)
		began := time.Now()
		r.halt()
		<-ended
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %s", took)
		}
	})
}

func TestWhatWasToldIsNotWarnedOfAgain(t *testing.T) {
	for err, logged := range map[error]bool{errBroken: true, fmt.Errorf("%w: %w", ErrTold, errBroken): false} {
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			cfg := Config{List: listOf(db), Logger: slog.New(slog.NewTextHandler(&log, nil))}
			r := newRig(t, cfg, func(context.Context, Key) (Result, error) { return Result{}, err }).start()
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				r.Watch(ctx, "test", func(context.Context, func(), func(Key)) error { return err }, nil)
			}()
			r.sleep(time.Minute)
			cancel()
			<-ended
			r.halt()
			for _, what := range []string{"a subscription ended", "a pass failed"} {
				if bytes.Contains(log.Bytes(), []byte(what)) != logged {
					t.Errorf("%v: %s", err, log.String())
				}
			}
		})
	}
}
