package applogs_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/applogs"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

func TestTheBacklogOfReplicasIsInTheOrderOfTime(t *testing.T) {
	inWorld(t, func(w *world) {
		w.run("web", "v1", 0, "one", "three")
		w.clock.Advance(500 * time.Millisecond)
		w.run("worker", "v1", 0, "two", "four")
		w.clock.Advance(time.Minute)

		want := []string{"web.0 v1 one", "worker.0 v1 two", "web.0 v1 three", "worker.0 v1 four"}
		if got := w.read(wire.LogQuery{}); !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if got := w.read(wire.LogQuery{Service: "worker"}); !slices.Equal(got, []string{"worker.0 v1 two", "worker.0 v1 four"}) {
			t.Errorf("one service: %q", got)
		}
		if got := w.read(wire.LogQuery{Since: epoch.Add(time.Second)}); !slices.Equal(got, want[2:]) {
			t.Errorf("since: %q", got)
		}
	})
}

func TestTheTailIsThatOfAllContainersTogether(t *testing.T) {
	inWorld(t, func(w *world) {
		w.run("web", "v1", 0, "a0", "a1", "a2", "a3", "a4")
		w.clock.Advance(500 * time.Millisecond)
		w.run("web", "v1", 1, "b0", "b1")
		w.clock.Advance(time.Minute)
		for n, want := range map[int][]string{
			1: {"web.0 v1 a4"},
			3: {"web.0 v1 a2", "web.0 v1 a3", "web.0 v1 a4"},
			4: {"web.1 v1 b1", "web.0 v1 a2", "web.0 v1 a3", "web.0 v1 a4"},
		} {
			if got := w.read(wire.LogQuery{Tail: n}); !slices.Equal(got, want) {
				t.Errorf("tail %d: %q, want %q", n, got, want)
			}
		}
	})
}

func TestATailOfChosenMembersCountsTheirLinesAlone(t *testing.T) {
	inWorld(t, func(w *world) {
		w.run("web", "v1", 0, "a0", "a1", "a2")
		w.run("worker", "v1", 0, "b0", "b1", "b2")
		w.clock.Advance(time.Minute)
		if got, want := w.read(wire.LogQuery{Members: []string{"worker"}, Tail: 2}), []string{"worker.0 v1 b1", "worker.0 v1 b2"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		f := w.follow(wire.LogQuery{Members: []string{"worker"}, Tail: 1})
		f.expect("worker.0 v1 b2")
		w.run("web", "v2", 0, "not chosen")
		w.run("worker", "v2", 0, "chosen")
		f.expect("worker.0 v2 chosen")
		f.stop()
		<-f.done
	})
}

func TestTheLogOfARemovedContainerIsReadFromWhatWasKept(t *testing.T) {
	inWorld(t, func(w *world) {
		old := w.run("web", "v1", 0, "old")
		w.clock.Advance(time.Second)
		w.run("web", "v2", 0, "new")
		w.clock.Advance(time.Second)
		w.retire(old, "web", "shop-web-v1")
		want := []string{"web.0 v1 old", "web.0 v2 new"}
		if got := w.read(wire.LogQuery{}); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestAKeptLogWhoseContainerIsStillThereIsNotReadTwice(t *testing.T) {
	inWorld(t, func(w *world) {
		name := w.run("web", "v1", 0, "once")
		w.keepLog(name, "web", "shop-web-v1")
		if got := w.read(wire.LogQuery{}); !slices.Equal(got, []string{"web.0 v1 once"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestAContainerThatHasAnOlderOnesNameDoesNotHideItsLog(t *testing.T) {
	inWorld(t, func(w *world) {
		first := w.run("web", "v1", 0, "first")
		w.clock.Advance(time.Minute)
		w.retire(first, "web", "shop-web-v1")
		w.clock.Advance(time.Minute)
		second := w.run("web", "v1", 0, "second") // a rollback brings the name back
		w.keepLog(second, "web", "shop-web-v1")   // and is about to be removed in its turn
		want := []string{"web.0 v1 first", "web.0 v1 second"}
		if got := w.read(wire.LogQuery{}); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		f := w.follow(wire.LogQuery{})
		f.expect(want...)
		f.stop()
		<-f.done
	})
}

func TestFollowingGoesOnOverADeploy(t *testing.T) {
	inWorld(t, func(w *world) {
		old := w.run("web", "v1", 0, "old 1", "old 2")
		f := w.follow(wire.LogQuery{})
		f.expect("web.0 v1 old 1")
		w.clock.Advance(time.Second)
		f.expect("web.0 v1 old 2")

		w.run("web", "v2", 0, "new 1", "new 2")
		f.expect("web.0 v2 new 1")
		w.retire(old, "web", "shop-web-v1")
		w.clock.Advance(time.Second)
		f.expect("web.0 v2 new 2")

		f.stop()
		if err := <-f.done; !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestFollowingGoesOnWhenAContainerStartsAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		name := w.start("web", "v1", 0, dockertest.Behaviour{
			Log: []dockertest.LogAt{{Text: "up"}}, Exit: &dockertest.Exit{After: time.Second, Code: 1, Times: 1},
		})
		f := w.follow(wire.LogQuery{})
		f.expect("web.0 v1 up")
		w.clock.Advance(2 * time.Second)
		f.expect()
		if err := w.Start(w.t.Context(), name); err != nil {
			t.Fatal(err)
		}
		f.expect("web.0 v1 up")
		f.stop()
		<-f.done
	})
}

func TestFollowingSurvivesAnEngineRestart(t *testing.T) {
	inWorld(t, func(w *world) {
		w.run("web", "v1", 0, "one", "two", "three")
		f := w.follow(wire.LogQuery{})
		f.expect("web.0 v1 one")
		w.RestartEngine(true)
		w.clock.Advance(time.Second)
		<-time.After(10 * time.Second) // virtual: lets the retries come round
		f.expect("web.0 v1 two")
		w.run("web", "v2", 0, "new")
		f.expect("web.0 v2 new")
		f.stop()
		<-f.done
	})
}

func TestAnEngineThatIsDownIsAnError(t *testing.T) {
	inWorld(t, func(w *world) {
		w.SetDown(true)
		for _, follow := range []bool{false, true} {
			err := w.source.Logs(w.t.Context(), wire.LogQuery{App: "shop", Follow: follow}, func(wire.LogEntry) error { return nil })
			if !docker.IsUnavailable(err) {
				t.Errorf("follow %t: %v", follow, err)
			}
		}
	})
}

func TestTheReceiversErrorEndsTheQuery(t *testing.T) {
	inWorld(t, func(w *world) {
		w.run("web", "v1", 0, "one", "two")
		full := errors.New("full")
		for _, follow := range []bool{false, true} {
			err := w.source.Logs(w.t.Context(), wire.LogQuery{App: "shop", Follow: follow}, func(wire.LogEntry) error { return full })
			if !errors.Is(err, full) {
				t.Errorf("follow %t: %v", follow, err)
			}
		}
		synctest.Wait() // synctest fails the test if a reader is left behind
	})
}

func TestContainersOfAnotherBerthAreNotRead(t *testing.T) {
	inWorld(t, func(w *world) {
		w.run("web", "v1", 0, "ours")
		other := docker.ContainerSpec{
			Name: "other", Image: w.AddImage("other:1", docker.Image{}, dockertest.Behaviour{Log: []dockertest.LogAt{{Text: "theirs"}}}).ID,
			Labels:  map[string]string{docker.LabelInstance: "b2", docker.LabelApp: "shop", docker.LabelService: "shop-web"},
			Network: docker.NetworkAttachment{Network: "shop"},
		}
		if _, err := w.Create(w.t.Context(), other); err != nil {
			t.Fatal(err)
		}
		if err := w.Start(w.t.Context(), "other"); err != nil {
			t.Fatal(err)
		}
		if got := w.read(wire.LogQuery{}); !slices.Equal(got, []string{"web.0 v1 ours"}) {
			t.Errorf("got %q", got)
		}
	})
}

func TestAContainerGoneBeforeItsFollowerReadsIsReadFromWhatWasKept(t *testing.T) {
	inWorld(t, func(w *world) {
		f := w.follow(wire.LogQuery{})
		f.expect()
		w.Script(dockertest.Fault{Call: dockertest.CallLogs, Kind: dockertest.FailBefore, Err: docker.ErrNotFound})
		w.keep(store.KeptLog{
			Container: "shop-web-v1-0", Service: "shop-web", ReleaseID: "shop-web-v1",
			Lines: []byte(`{"Time":"2026-03-04T10:00:00Z","Stream":"stdout","Text":"last words"}` + "\n"),
		})
		w.run("web", "v1", 0, "last words")
		f.expect("web.0 v1 last words")
		f.stop()
		<-f.done
	})
}

// awayNode is an engine whose containers of one replica are on a node that cannot be asked.
type awayNode struct{ *dockertest.Engine }

func (a awayNode) List(ctx context.Context, labels map[string]string) ([]docker.ContainerState, error) {
	all, err := a.Engine.List(ctx, labels)
	for i := range all {
		if all[i].Labels[docker.LabelReplica] == "1" {
			all[i].Node, all[i].Away = "n1", true
		}
	}
	return all, err
}

func (a awayNode) Logs(ctx context.Context, container string, o docker.LogOptions, fn func(docker.LogLine) error) error {
	if s, err := a.Inspect(ctx, container); err == nil && s.Labels[docker.LabelReplica] == "1" {
		return docker.ErrUnavailable
	}
	return a.Engine.Logs(ctx, container, o, fn)
}

func TestAReplicaOnANodeThatIsAwayKeepsNoOtherLinesBack(t *testing.T) {
	inWorld(t, func(w *world) {
		w.run("web", "v1", 0, "one", "two")
		w.run("web", "v1", 1, "lost")
		w.clock.Advance(time.Minute)
		w.source = applogs.New(awayNode{w.Engine}, &w.memory, "b1", nil)
		want := []string{"web.0 v1 one", "web.1 v1 [berth] node n1 is away: what this replica printed there cannot be read now", "web.0 v1 two"}
		got := w.read(wire.LogQuery{})
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}
