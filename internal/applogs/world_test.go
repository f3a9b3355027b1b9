package applogs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-cloud/berth/internal/applogs"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

var epoch = time.Date(2026, time.March, 4, 10, 0, 0, 0, time.UTC)

// world is a simulated engine and what the store says of app shop.
type world struct {
	*dockertest.Engine
	t     *testing.T
	clock *dockertest.Clock
	memory
	source *applogs.Source
	ips    byte
}

// inWorld runs a test on virtual time.
func inWorld(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		clock := dockertest.NewClock(epoch)
		w := &world{Engine: dockertest.New(clock), t: t, clock: clock, ips: 10}
		defer w.Close()
		if _, err := w.CreateNetwork(t.Context(), docker.NetworkSpec{Name: "shop", Subnet: netip.MustParsePrefix("10.210.0.0/24")}); err != nil {
			t.Fatal(err)
		}
		w.source = applogs.New(w.Engine, &w.memory, "b1", nil)
		test(w)
	})
}

// run starts a container of a release of a service that prints the lines, a second apart.
func (w *world) run(service, release string, replica int, lines ...string) string {
	w.t.Helper()
	b := dockertest.Behaviour{}
	for i, text := range lines {
		b.Log = append(b.Log, dockertest.LogAt{After: time.Duration(i) * time.Second, Text: text})
	}
	return w.start(service, release, replica, b)
}

func (w *world) start(service, release string, replica int, b dockertest.Behaviour) string {
	w.t.Helper()
	name := fmt.Sprintf("shop-%s-%s-%d", service, release, replica)
	image := w.AddImage(name+":1", docker.Image{}, b)
	w.ips++
	_, err := w.Create(w.t.Context(), docker.ContainerSpec{
		Name: name, Image: image.ID,
		Labels: map[string]string{
			docker.LabelInstance: "b1", docker.LabelApp: "shop", docker.LabelService: spec.FullName("shop", service),
			docker.LabelRelease: "shop-" + service + "-" + release, docker.LabelReplica: strconv.Itoa(replica),
		},
		Network: docker.NetworkAttachment{Network: "shop", Address: netip.AddrFrom4([4]byte{10, 210, 0, w.ips})},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.Start(w.t.Context(), name); err != nil {
		w.t.Fatal(err)
	}
	return name
}

// retire stops and removes a container; its log is kept first, as the
// controller does.
func (w *world) retire(name, service, release string) {
	w.t.Helper()
	if err := w.Stop(w.t.Context(), name, time.Second); err != nil {
		w.t.Fatal(err)
	}
	w.keepLog(name, service, release)
	if err := w.Remove(w.t.Context(), name); err != nil {
		w.t.Fatal(err)
	}
}

// keepLog keeps what a container has printed.
func (w *world) keepLog(name, service, release string) {
	w.t.Helper()
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	if err := w.Engine.Logs(w.t.Context(), name, docker.LogOptions{}, func(l docker.LogLine) error { return enc.Encode(l) }); err != nil {
		w.t.Fatal(err)
	}
	state, err := w.Inspect(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	w.keep(store.KeptLog{Started: state.Started, Container: name, Service: spec.FullName("shop", service), ReleaseID: release, Lines: lines.Bytes()})
}

// read returns the backlog as "service.replica release text".
func (w *world) read(q wire.LogQuery) []string {
	w.t.Helper()
	var got []string
	q.App = "shop"
	if err := w.source.Logs(w.t.Context(), q, func(e wire.LogEntry) error {
		got = append(got, show(e))
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	return got
}

func show(e wire.LogEntry) string {
	return fmt.Sprintf("%s.%d %s %s", e.Service, e.Replica, e.Release, e.Text)
}

// tailing is a follower under way.
type tailing struct {
	w    *world
	stop context.CancelFunc
	done chan error

	mu  sync.Mutex
	got []string
}

func (w *world) follow(q wire.LogQuery) *tailing {
	ctx, cancel := context.WithCancel(w.t.Context())
	f := &tailing{w: w, stop: cancel, done: make(chan error, 1)}
	q.App, q.Follow = "shop", true
	go func() {
		f.done <- w.source.Logs(ctx, q, func(e wire.LogEntry) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.got = append(f.got, show(e))
			return nil
		})
	}()
	return f
}

// expect waits until nothing moves and compares what came since last asked.
func (f *tailing) expect(want ...string) {
	f.w.t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.got, want) {
		f.w.t.Fatalf("got  %q\nwant %q", f.got, want)
	}
	f.got = nil
}

// memory is a store that knows one service and what it is told.
type memory struct {
	mu   sync.Mutex
	logs []store.KeptLog
}

func (m *memory) keep(k store.KeptLog) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.logs = append(m.logs, k)
}

func (m *memory) ListDesiredServices(context.Context, string) ([]store.DesiredService, error) {
	return []store.DesiredService{{Name: "shop-web"}, {Name: "shop-worker"}}, nil
}

func (m *memory) ListKeptLogs(_ context.Context, service string, _ int) ([]store.KeptLog, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []store.KeptLog
	for _, k := range slices.Backward(m.logs) {
		if k.Service == service {
			out = append(out, k)
		}
	}
	return out, nil
}
