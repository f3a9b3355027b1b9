package dockertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

var logCases = []SuiteCase{
	{"LogsAreWholeLinesInOrderWithStreamAndTime", func(s *suite) {
		id := s.logging()
		got := s.logs(id, docker.LogOptions{})
		for _, stream := range []docker.Stream{docker.Stdout, docker.Stderr} {
			if g, w := texts(got, stream), texts(SuiteLog(), stream); !slices.Equal(g, w) {
				s.Errorf("%s: %d lines %.200q, want %d", stream, len(g), g, len(w))
			}
		}
		for i, l := range got {
			if l.Time.IsZero() || l.Partial {
				s.Errorf("line %d: time %v, partial %v", i, l.Time, l.Partial)
			}
		}
	}},
	{"TailReturnsTheLastLines", func(s *suite) {
		id := s.logging()
		all := s.logs(id, docker.LogOptions{})
		if got := s.logs(id, docker.LogOptions{Tail: 2}); !slices.Equal(got, all[len(all)-2:]) {
			s.Fatalf("tail of 2 gave %d lines: %.200v", len(got), got)
		}
		if got := s.logs(id, docker.LogOptions{Tail: 1000}); !slices.Equal(got, all) {
			s.Fatalf("tail of 1000 gave %d lines, want %d", len(got), len(all))
		}
	}},
	// Engines count the frames of a long line as lines of the tail.
	{"TailCountsLinesNotFrames", func(s *suite) {
		id := s.logging()
		all := s.logs(id, docker.LogOptions{})
		for n := 1; n <= len(all); n++ {
			if got := s.logs(id, docker.LogOptions{Tail: n}); !slices.Equal(got, all[len(all)-n:]) {
				s.Fatalf("tail of %d gave %d lines: %.200v", n, len(got), got)
			}
		}
	}},
	{"SinceReturnsLinesFromThatInstantOn", func(s *suite) {
		id := s.logging()
		all := s.logs(id, docker.LogOptions{})
		since := all[len(all)/2].Time
		var want []docker.LogLine
		for _, l := range all {
			if !l.Time.Before(since) {
				want = append(want, l)
			}
		}
		if got := s.logs(id, docker.LogOptions{Since: since}); !slices.Equal(got, want) {
			s.Fatalf("%d lines since %v, want %d of %d", len(got), since, len(want), len(all))
		}
		later := all[len(all)-1].Time.Add(time.Hour)
		if got := s.logs(id, docker.LogOptions{Since: later}); len(got) != 0 {
			s.Fatalf("%d lines from the future", len(got))
		}
	}},
	{"FollowEndsWithTheContainer", func(s *suite) {
		id := s.run(s.spec(s.Logs))
		f := s.follow(s.ctx, id)
		want := len(SuiteLog())
		if !s.Wait(func() bool { return len(f.lines()) == want }) {
			s.Fatalf("followed %d lines, want %d", len(f.lines()), want)
		}
		s.must(s.Runtime.Stop(s.ctx, id, 5*time.Second), "stop")
		if !s.Wait(f.ended) {
			s.Fatal("following goes on after the container ended")
		}
		s.must(f.err, "follow")
	}},
	{"FollowEndsWithItsContext", func(s *suite) {
		id := s.run(s.spec(s.Logs))
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		f := s.follow(ctx, id)
		if !s.Wait(func() bool { return len(f.lines()) > 0 }) {
			s.Fatal("nothing to follow")
		}
		cancel()
		if !s.Wait(f.ended) {
			s.Fatal("following goes on after its context is done")
		}
		s.wantErr(f.err, func(err error) bool { return errors.Is(err, context.Canceled) }, "follow")
	}},
	{"AnErrorOfTheReaderEndsTheLog", func(s *suite) {
		id := s.logging()
		enough := errors.New("enough")
		n := 0
		err := s.Runtime.Logs(s.ctx, id, docker.LogOptions{Follow: true}, func(docker.LogLine) error {
			if n++; n == 2 {
				return enough
			}
			return nil
		})
		s.wantErr(err, func(err error) bool { return errors.Is(err, enough) && n == 2 }, "logs")
	}},
	{"LogsOfAStoppedContainerRemain", func(s *suite) {
		id := s.logging()
		s.must(s.Runtime.Stop(s.ctx, id, 5*time.Second), "stop")
		if got := s.logs(id, docker.LogOptions{Follow: true}); len(got) < len(SuiteLog()) {
			s.Fatalf("%d lines, want at least %d", len(got), len(SuiteLog()))
		}
	}},
	{"LogsOfAMissingContainerAreNotFound", func(s *suite) {
		err := s.Runtime.Logs(s.ctx, s.name("none"), docker.LogOptions{}, func(docker.LogLine) error { return nil })
		s.wantErr(err, docker.IsNotFound, "logs")
	}},
}

// logging runs the Logs program until everything is printed.
func (s *suite) logging() string {
	s.Helper()
	id := s.run(s.spec(s.Logs))
	if !s.Wait(func() bool { return len(s.logs(id, docker.LogOptions{})) == len(SuiteLog()) }) {
		s.Fatalf("%d lines logged, want %d", len(s.logs(id, docker.LogOptions{})), len(SuiteLog()))
	}
	return id
}

func (s *suite) logs(id string, opts docker.LogOptions) (out []docker.LogLine) {
	s.Helper()
	s.must(s.Runtime.Logs(s.ctx, id, opts, func(l docker.LogLine) error {
		out = append(out, l)
		return nil
	}), "logs")
	return out
}

func texts(lines []docker.LogLine, stream docker.Stream) (out []string) {
	for _, l := range lines {
		if l.Stream == stream {
			out = append(out, l.Text)
		}
	}
	return out
}

// follower follows a log on a goroutine of its own.
type follower struct {
	mu   sync.Mutex
	got  []docker.LogLine
	err  error // once ended
	done chan struct{}
}

func (s *suite) follow(ctx context.Context, id string) *follower {
	f := &follower{done: make(chan struct{})}
	ctx, cancel := context.WithCancel(ctx)
	s.Cleanup(func() { cancel(); <-f.done })
	go func() {
		defer close(f.done)
		f.err = s.Runtime.Logs(ctx, id, docker.LogOptions{Follow: true}, func(l docker.LogLine) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.got = append(f.got, l)
			return nil
		})
	}()
	return f
}

func (f *follower) lines() []docker.LogLine {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.got)
}

func (f *follower) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

var eventCases = []SuiteCase{
	{"EventsFollowTheLifeOfAContainer", func(s *suite) {
		w := s.watch(map[string]string{s.Prefix: "yes"})
		spec := s.spec(s.Exit(5))
		id := s.run(spec)
		s.waitStatus(id, docker.StatusExited)
		s.must(s.Runtime.Remove(s.ctx, id), "remove")
		want := []docker.EventAction{docker.EventCreate, docker.EventStart, docker.EventDie, docker.EventDestroy}
		if !s.Wait(func() bool { return len(w.actions()) >= len(want) }) || !slices.Equal(w.actions(), want) {
			s.Fatalf("events %v, want %v", w.actions(), want)
		}
		for _, ev := range w.events() {
			if ev.ContainerID != id || ev.Name != spec.Name || ev.Labels[s.Prefix] != "yes" || ev.Time.IsZero() {
				s.Errorf("event %+v", ev)
			}
			if ev.Action == docker.EventDie && ev.ExitCode != 5 {
				s.Errorf("die with exit code %d, want 5", ev.ExitCode)
			}
		}
	}},
	{"EventsAreSelectedByLabel", func(s *suite) {
		w := s.watch(map[string]string{s.Prefix: "yes"})
		other := s.spec(s.Sleep)
		other.Labels = map[string]string{s.Prefix: "no"}
		s.create(other)
		mine := s.create(s.spec(s.Sleep))
		if !s.Wait(func() bool { return len(w.actions()) > 0 }) {
			s.Fatal("no event")
		}
		if ev := w.events(); len(ev) != 1 || ev[0].ContainerID != mine {
			s.Fatalf("events %+v", ev)
		}
	}},
	{"EventsEndWithTheirContext", func(s *suite) {
		w := s.watch(map[string]string{s.Prefix: ""})
		w.cancel()
		if !s.Wait(w.ended) {
			s.Fatal("the stream goes on after its context is done")
		}
		s.wantErr(w.err, func(err error) bool { return errors.Is(err, context.Canceled) }, "events")
	}},
}

// watcher subscribes to events on a goroutine of its own.
type watcher struct {
	mu     sync.Mutex
	got    []docker.Event
	err    error // once ended
	done   chan struct{}
	cancel context.CancelFunc
}

// watch returns once the subscription stands.
func (s *suite) watch(labels map[string]string) *watcher {
	s.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	w := &watcher{done: make(chan struct{}), cancel: cancel}
	s.Cleanup(func() { cancel(); <-w.done })
	ready := make(chan struct{})
	go func() {
		defer close(w.done)
		w.err = s.Runtime.Events(ctx, labels, func() { close(ready) }, func(ev docker.Event) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.got = append(w.got, ev)
		})
	}()
	select {
	case <-ready:
	case <-w.done:
		s.Fatalf("events: %v", w.err)
	}
	return w
}

func (w *watcher) events() []docker.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.got)
}

func (w *watcher) actions() (out []docker.EventAction) {
	for _, ev := range w.events() {
		out = append(out, ev.Action)
	}
	return out
}

func (w *watcher) ended() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}
