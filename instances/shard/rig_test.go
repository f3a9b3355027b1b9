package shard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/instances"
	"github.com/berth-cloud/berth/instances/agent"
	"github.com/berth-cloud/berth/instances/config"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/fake"
	"github.com/berth-cloud/berth/instances/secrets"
	"github.com/berth-cloud/berth/instances/shard"
	"github.com/berth-cloud/berth/instances/storage"
)

// world is what outlives a server: the bucket, the secrets, the provider, addresses, and
// the clock that all share.
type world struct {
	testing.TB
	bucket                *storage.Memory
	secrets               secrets.Store
	cloud                 *fake.Cloud
	ahead                 atomic.Int64 // of the true time
	registrations, agents string
	cache                 string
	log                   *lines
	// groups and timings are parts of the configuration; broken is what is read instead.
	mu              sync.Mutex
	groups, timings string
	broken          string
	beat            time.Duration // of agents
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, bucket: storage.NewMemory(), secrets: secrets.NewMemory(), cache: t.TempDir(), log: &lines{}, beat: 50 * time.Millisecond}
	w.cloud = fake.NewCloud(fake.Options{Now: w.now})
	w.registrations, w.agents = "127.0.0.1:0", "127.0.0.1:0"
	w.groups = `"acme": {"web": {"template": "small"}}`
	return w
}

func (w *world) now() time.Time       { return time.Now().Add(time.Duration(w.ahead.Load())) }
func (w *world) pass(d time.Duration) { w.ahead.Add(int64(d)) }
func (w *world) logger() *slog.Logger { return slog.New(slog.NewTextHandler(w.log, nil)) }
func (w *world) must(err error)       { w.Helper(); mustBe(w.TB, err) }
func mustBe(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Read implements config.Source.
func (w *world) Read(context.Context) ([]byte, string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != "" {
		return []byte(w.broken), "", nil
	}
	return fmt.Appendf(nil, `{
		"cluster": {"id": "prod"},
		"certificates": {"server_ttl": "24h"},
		"shard": {"name": "one", "provider": {"kind": "fake"}, "server": {"registration_addr": %q, "agent_addr": %q}, %s},
		"templates": {"small": {"kind": "wrk", "arch": "amd64", "userdata": {"content": "{{ .Nonce }}"}}},
		"groups": {%s},
	}`, w.registrations, w.agents, w.timings, w.groups), w.groups + w.timings, nil
}

// say changes what the configuration says of groups.
func (w *world) say(groups string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.groups, w.broken = groups, ""
}

func (w *world) retime(timings string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timings = timings
}

func (w *world) spoil(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = text
}

// serve starts a server, at the addresses of the one before; stop ends it.
func (w *world) serve(change func(*shard.Options)) (s *shard.Shard, stop func()) {
	w.Helper()
	return w.serveWith(w.cloud.Open, func(o *shard.Options) {
		o.Alone = true
		if change != nil {
			change(o)
		}
	})
}

func (w *world) serveWith(open infra.OpenFunc, change func(*shard.Options)) (s *shard.Shard, stop func()) {
	w.Helper()
	registrations, err := net.Listen("tcp", w.registrations)
	w.must(err)
	agents, err := net.Listen("tcp", w.agents)
	w.must(err)
	w.registrations, w.agents = registrations.Addr().String(), agents.Addr().String()
	loader, err := config.NewLoader(config.LoaderOptions{Source: w})
	w.must(err)
	providers, err := infra.NewRegistry(map[string]infra.OpenFunc{fake.Kind: open})
	w.must(err)
	opts := shard.Options{
		ServerID: "test", Storage: w.bucket, Secrets: w.secrets, Loader: loader, Providers: providers, CacheDir: w.cache,
		Timing: hub.Timing{Heartbeat: 200 * time.Millisecond, Probe: time.Second}, KeepEvery: 10 * time.Millisecond,
		ReloadEvery: 10 * time.Millisecond, Logger: w.logger(), Now: w.now,
	}
	change(&opts)
	s, err = shard.Open(w.Context(), opts)
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, registrations, agents) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, s.Close()); err != nil {
			w.Error(err)
		}
	})
	w.Cleanup(stop)
	if opts.Alone {
		w.must(s.Manager.RebuildCache(w.Context()))
	}
	return s, stop
}

// machine makes one, and runs its agent until the test ends.
func (w *world) machine(s *shard.Shard) (instanceID string) {
	w.Helper()
	instanceID, _, _ = w.boot(s)
	return instanceID
}

func (w *world) boot(s *shard.Shard) (instanceID, dir string, stop func()) {
	w.Helper()
	made, err := s.Manager.CreateInstance(w.Context(), instances.CreateInstanceRequest{Tenant: "acme", Group: "web"})
	w.must(err)
	dir = w.TempDir()
	w.must(w.bootstrap(dir, made.InstanceID, s.Authority.CAPEM(), []byte(made.RegistrationJWT)))
	stop = w.run(dir)
	w.until("the machine is connected", func() bool { return s.Hub.Online(made.InstanceID) })
	return made.InstanceID, dir, stop
}

// bootstrap is what a machine's user data puts there.
func (w *world) bootstrap(dir, instanceID string, ca, token []byte) error {
	boot, err := json.Marshal(map[string]string{
		"cluster_id": "prod", "shard": "one", "instance_id": instanceID,
		"registration_addr": w.registrations, "agent_addr": w.agents, "ingress_addr": "",
	})
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{"bootstrap.json": boot, "ca.crt": ca, "nonce.jwt": token} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// run is the agent of a folder until stop is called or the test ends.
func (w *world) run(dir string) (stop func()) {
	w.Helper()
	a, err := agent.New(agent.Config{
		Dir: dir, BootID: "boot", EngineSocket: "/none", Now: w.now, Log: w.logger(),
		Timing: agent.Timing{Heartbeat: w.beat, RetryMin: 5 * time.Millisecond, RetryMax: 20 * time.Millisecond, RetrySlow: 30 * time.Millisecond},
	})
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.Error(err)
		}
	})
	w.Cleanup(stop)
	return stop
}

func (w *world) until(what string, so func() bool) {
	w.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !so() {
		select {
		case <-tick.C:
		case <-limit.C:
			w.Fatalf("never: %s\n%s", what, w.log)
		}
	}
}

type lines struct {
	mu  sync.Mutex
	buf []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.buf)
}
