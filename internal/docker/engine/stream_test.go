package engine_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

func TestLogsTellStreamsTimesAndOrder(t *testing.T) {
	r := newRig(t)
	before := time.Now().Add(-time.Second)
	lines, state := r.finish(r.probe("talker", "out:first", "err:second", "out:", "raw:no end"))
	if len(lines) != 4 {
		t.Fatalf("lines %+v", lines)
	}
	var stdout []string
	for i, l := range lines {
		if l.Time.Before(before) || l.Time.After(state.Exit.FinishedAt.Add(time.Second)) || l.Partial {
			t.Errorf("line %d: %+v", i, l)
		}
		if l.Stream == docker.Stdout {
			stdout = append(stdout, l.Text)
		} else if l.Text != "second" {
			t.Errorf("on stderr: %q", l.Text)
		}
	}
	if !slices.Equal(stdout, []string{"first", "", "no end"}) {
		t.Errorf("on stdout: %q", stdout)
	}
}

func TestALongLineStaysWholeUpToTheBound(t *testing.T) {
	r := newRig(t)
	lines, _ := r.finish(r.probe("long", "long:40000", "long:150000", "out:after"))
	var sizes []int
	var partial []bool
	for _, l := range lines {
		sizes, partial = append(sizes, len(l.Text)), append(partial, l.Partial)
	}
	rest := 150000 - 2*docker.MaxLogLine
	if !slices.Equal(sizes, []int{40000, docker.MaxLogLine, docker.MaxLogLine, rest, 5}) ||
		!slices.Equal(partial, []bool{false, true, true, false, false}) {
		t.Fatalf("sizes %v, partial %v", sizes, partial)
	}
	whole := lines[1].Text + lines[2].Text + lines[3].Text
	if lines[0].Text != whole[:40000] || strings.Trim(whole, "abcdefghijklmnopqrstuvwxyz") != "" {
		t.Error("the bytes changed")
	}
}

func TestLogsSelect(t *testing.T) {
	r := newRig(t)
	id := r.run(r.probe("counter", "lines:10", "sleep:20ms", "out:late"))
	all := r.lines(id, docker.LogOptions{})
	if len(all) != 11 {
		t.Fatalf("%d lines", len(all))
	}
	read := func(opts docker.LogOptions) []docker.LogLine {
		var out []docker.LogLine
		if err := r.Logs(r.ctx(), id, opts, func(l docker.LogLine) error { out = append(out, l); return nil }); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := read(docker.LogOptions{}); !slices.Equal(got, all) {
		t.Errorf("without follow: %q", text(got))
	}
	if got := read(docker.LogOptions{Tail: 3}); !slices.Equal(got, all[8:]) {
		t.Errorf("tail: %q", text(got))
	}
	late := all[10].Time
	if got := read(docker.LogOptions{Since: late}); !slices.Equal(text(got), []string{"late"}) {
		t.Errorf("since: %q", text(got))
	}
	if got := read(docker.LogOptions{Until: late.Add(-time.Millisecond)}); !slices.Equal(got, all[:10]) {
		t.Errorf("until: %q", text(got))
	}
}

func TestFollowGoesOnUntilTheContextEnds(t *testing.T) {
	r := newRig(t)
	id := r.run(r.probe("follow", "out:up", "wait"))
	ctx, cancel := context.WithCancel(r.ctx())
	defer cancel()
	err := r.Logs(ctx, id, docker.LogOptions{Follow: true}, func(l docker.LogLine) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || docker.IsUnavailable(err) {
		t.Errorf("got %v", err)
	}
	stop := errors.New("seen enough")
	err = r.Logs(r.ctx(), id, docker.LogOptions{Follow: true}, func(docker.LogLine) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

// watch subscribes until the test ends and returns once that stands.
func watch(t testing.TB, r *rig, fn func(docker.Event)) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- r.Events(ctx, r.label, func() { close(ready) }, fn) }()
	select {
	case <-ready:
	case err := <-done:
		cancel()
		t.Fatalf("no subscription: %v", err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the subscription ended with %v", err)
		}
	})
}

func TestEventsTellOfALife(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex
	var got []docker.Event
	gone := make(chan struct{})
	watch(t, r, func(e docker.Event) {
		mu.Lock()
		defer mu.Unlock()
		if got = append(got, e); e.Action == docker.EventDestroy {
			close(gone)
		}
	})
	spec := r.probe("life", "exit:4")
	_, state := r.finish(spec)
	if err := r.Remove(r.ctx(), state.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-gone:
	case <-time.After(30 * time.Second):
	}
	mu.Lock()
	defer mu.Unlock()
	var actions []docker.EventAction
	for _, e := range got {
		actions = append(actions, e.Action)
		if e.ContainerID != state.ID || e.Name != spec.Name || e.Labels["berth.enginetest"] != r.prefix || time.Since(e.Time) > time.Minute {
			t.Errorf("event %+v", e)
		}
		if e.Action == docker.EventDie && e.ExitCode != 4 {
			t.Errorf("died with %d", e.ExitCode)
		}
	}
	if !slices.Equal(actions, []docker.EventAction{docker.EventCreate, docker.EventStart, docker.EventDie, docker.EventDestroy}) {
		t.Errorf("actions %v", actions)
	}
}

// post asks the engine for what Berth itself never does.
func (r *rig) post(path string) {
	r.t.Helper()
	var d net.Dialer
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return d.DialContext(ctx, "unix", r.socket)
	}}}
	req, err := http.NewRequestWithContext(r.ctx(), http.MethodPost, "http://engine"+path, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		r.t.Fatalf("%s: %s", path, res.Status)
	}
}

func TestEventsTellOfAPause(t *testing.T) {
	r := newRig(t)
	got := make(chan docker.EventAction, 16)
	watch(t, r, func(e docker.Event) { got <- e.Action })
	id := r.create(r.probe("frozen", "wait"))
	if err := r.Start(r.ctx(), id); err != nil {
		t.Fatal(err)
	}
	r.post("/containers/" + id + "/pause")
	if s, err := r.Inspect(r.ctx(), id); err != nil || s.Status != docker.StatusPaused {
		t.Errorf("paused: %+v, %v", s, err)
	}
	r.post("/containers/" + id + "/unpause")
	for _, want := range []docker.EventAction{docker.EventCreate, docker.EventStart, docker.EventPause, docker.EventUnpause} {
		select {
		case a := <-got:
			if a != want {
				t.Errorf("event %s, want %s", a, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no event, want %s", want)
		}
	}
}

// What happens right after ready is what a subscription that only seems to
// stand would miss.
func TestNoEventIsLostAfterReady(t *testing.T) {
	r := newRig(t)
	for i := range 10 {
		created := make(chan docker.Event, 1)
		var id string
		ctx, cancel := context.WithTimeout(r.ctx(), 30*time.Second)
		err := r.Events(ctx, r.label, func() { id = r.create(r.probe("quick"+string(rune('a'+i)), "exit:0")) }, func(e docker.Event) {
			created <- e
			cancel()
		})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("round %d: %v", i, err)
		}
		if e := <-created; e.ContainerID != id {
			t.Errorf("round %d: event %+v", i, e)
		}
	}
}
