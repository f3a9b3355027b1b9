package dockertest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
)

func TestAnEngineRestartBreaksStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(w.spec("c0", dockertest.Behaviour{Log: []dockertest.LogAt{{Text: "up"}}}))
		errs := make(chan error, 2)
		go func() { errs <- w.Events(w.ctx, nil, nil, func(docker.Event) {}) }()
		go func() {
			errs <- w.Logs(w.ctx, "c0", docker.LogOptions{Follow: true}, func(docker.LogLine) error { return nil })
		}()
		synctest.Wait()
		w.RestartEngine(true)
		for range 2 {
			if err := <-errs; !docker.IsUnavailable(err) {
				t.Errorf("stream ended with %v", err)
			}
		}
	})
}

func TestALogIsFollowedAsTimePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.run(w.spec("c0", dockertest.Behaviour{
			Log:  []dockertest.LogAt{{0, "", "one\ntwo"}, {time.Second, docker.Stderr, "three"}, {time.Minute, "", "never"}},
			Exit: &dockertest.Exit{After: 2 * time.Second},
		}))
		var got []docker.LogLine
		done := make(chan error, 1)
		go func() {
			done <- w.Logs(w.ctx, "c0", docker.LogOptions{Follow: true}, func(l docker.LogLine) error {
				got = append(got, l)
				return nil
			})
		}()
		for _, want := range []int{2, 3, 3} {
			synctest.Wait()
			if len(got) != want {
				t.Fatalf("after %v %d lines, want %d", w.since(), len(got), want)
			}
			w.clock.Advance(time.Second)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if last := got[2]; last.Text != "three" || last.Stream != docker.Stderr || !last.Time.Equal(epoch.Add(time.Second)) {
			t.Fatalf("last line %+v", last)
		}
	})
}

func TestALongLineIsCutIntoParts(t *testing.T) {
	w := newWorld(t)
	long := make([]byte, docker.MaxLogLine+10)
	for i := range long {
		long[i] = 'a'
	}
	w.run(w.spec("c0", dockertest.Behaviour{Log: []dockertest.LogAt{{Text: string(long)}}}))
	var got []docker.LogLine
	w.must(w.Logs(w.ctx, "c0", docker.LogOptions{}, func(l docker.LogLine) error { got = append(got, l); return nil }))
	if len(got) != 2 || !got[0].Partial || len(got[0].Text) != docker.MaxLogLine || got[1].Partial || len(got[1].Text) != 10 {
		t.Fatalf("%d lines", len(got))
	}
}

func TestASubscriberThatDoesNotReadIsDropped(t *testing.T) {
	w := newWorld(t)
	spec := w.spec("c0", dockertest.Behaviour{Exit: &dockertest.Exit{}})
	_, err := w.Create(w.ctx, spec)
	w.must(err)
	ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
	defer cancel()
	n := 0
	err = w.Events(ctx, nil, func() {
		for range 10_000 {
			w.must(w.Start(ctx, "c0"))
			w.clock.Advance(time.Millisecond)
		}
	}, func(docker.Event) { n++ })
	if !docker.IsUnavailable(err) || n == 0 || n >= 20_000 {
		t.Fatalf("after %d events: %v", n, err)
	}
}

func TestAPullTakesItsTimeAndMayBreak(t *testing.T) {
	w := newWorld(t)
	w.AddRemote("r/slow:1", dockertest.Remote{Time: time.Minute, StreamError: "unexpected EOF", FailTimes: 1})
	if err := w.Pull(w.ctx, "r/slow:1", nil, nil); err == nil || errors.Is(err, docker.ErrUnavailable) {
		t.Fatalf("pull: %v", err)
	}
	if _, err := w.Image(w.ctx, "r/slow:1"); !docker.IsImageNotFound(err) {
		t.Fatalf("image after a broken pull: %v", err)
	}
	w.must(w.Pull(w.ctx, "r/slow:1", nil, nil))
	if w.since() != 2*time.Minute {
		t.Fatalf("took %v", w.since())
	}
}

func TestATagMovesAndTheOldImageStaysByID(t *testing.T) {
	w := newWorld(t)
	old := w.AddImage("app", docker.Image{}, dockertest.Behaviour{})
	w.run(docker.ContainerSpec{Name: "c1", Image: "app:latest"})
	moved := w.AddImage("docker.io/library/app:latest", docker.Image{}, dockertest.Behaviour{})
	for ref, want := range map[string]string{"app": moved.ID, old.ID: old.ID, moved.ID: moved.ID} {
		im, err := w.Image(w.ctx, ref)
		w.must(err)
		if im.ID != want {
			t.Errorf("%s is %s, want %s", ref, im.ID, want)
		}
	}
	if im, _ := w.Image(w.ctx, old.ID); len(im.Tags) != 0 {
		t.Errorf("the old image still has the tags %v", im.Tags)
	}
	if list, _ := w.List(w.ctx, nil); list[0].Image != old.ID {
		t.Errorf("listed as of %s", list[0].Image)
	}
	if st := w.inspect("c1"); st.ImageID != old.ID || st.Image != "app:latest" {
		t.Errorf("the container runs %s", st.ImageID)
	}
	w.RemoveImage("app")
	if _, err := w.Image(w.ctx, moved.ID); !docker.IsImageNotFound(err) {
		t.Errorf("image after its removal: %v", err)
	}
}
