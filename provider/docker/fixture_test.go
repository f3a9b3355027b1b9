package docker_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	engineapi "github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
	"github.com/berth-cloud/berth/internal/docker/engine"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/docker"
	"github.com/berth-cloud/berth/provider/providertest"
	"github.com/berth-cloud/berth/secrets"
)

// lab is a real engine under the suite.
type lab struct {
	t      *testing.T
	socket string
	owner  string
	client *engine.Client
	repo   string
	// program is what the images run.
	program []byte
	pools   atomic.Int64
}

func newLab(t *testing.T) *lab {
	socket := testimage.Socket(t)
	l := &lab{t: t, socket: socket, owner: "conf-" + strings.ToLower(rand.Text()[:10])}
	var err error
	if l.client, err = engine.New(engine.Options{Host: "unix://" + socket}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.client.Close() })
	l.repo = "berth-test/" + l.owner
	l.program = buildImages(t, socket, l.repo, "1", "2")
	return l
}

// bench is one case: a provider with records and a vault of its own.
type bench struct {
	*lab
	t     testing.TB
	owner string
	pool  netip.Prefix
	state *provider.MemoryStore
	vault secrets.Vault
	log   *safeBuffer
}

func (l *lab) bench(t testing.TB) *bench {
	n := l.pools.Add(1)
	return &bench{
		lab: l, t: t, owner: fmt.Sprintf("%s-%d", l.owner, n), pool: netip.MustParsePrefix("10.231.0.0/16"),
		state: provider.NewMemoryStore(), vault: secrets.NewMemory(), log: &safeBuffer{},
	}
}

func (b *bench) provider() provider.Provider {
	p, err := docker.New(docker.Options{
		Host: "unix://" + b.socket, Owner: b.owner, Prefix: b.owner, State: b.state, Vault: b.vault, Pool: b.pool,
		Logger: slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return p
}

func (b *bench) fixture() providertest.Fixture {
	return providertest.Fixture{
		Provider: b.provider(), Vault: b.vault, Tenant: "acme", Wait: poll, Now: time.Now, Parallel: true,
		Images: providertest.Images{V1: b.repo + ":1", V2: b.repo + ":2", Unknown: "127.0.0.1:9/berth/unknown:1"},
		Restart: func(keep bool) provider.Provider {
			if !keep {
				b.state = provider.NewMemoryStore()
			}
			return b.provider()
		},
		Leftovers: b.leftovers, Inspect: b.inspect, Places: b.places,
	}
}

// poll waits on the wall clock.
func poll(cond func() bool) bool {
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return false
		}
	}
	return true
}

// leftovers is everything that bears the instance's mark.
func (b *bench) leftovers(instance id.ID) []string {
	ctx := context.Background()
	defer func() { _ = b.client.Close() }() // its idle connections, where a case looks for goroutines
	mark := instance.String()
	var out []string
	containers, err := b.client.List(ctx, map[string]string{engineapi.LabelInstance: b.owner, engineapi.LabelWorkload: mark})
	for _, c := range containers {
		out = append(out, "container "+c.Name)
	}
	volumes, err2 := b.client.ListVolumes(ctx, map[string]string{engineapi.LabelInstance: b.owner, engineapi.LabelWorkload: mark})
	for _, v := range volumes {
		out = append(out, "volume "+v.Name)
	}
	nets, err3 := b.client.ListNetworks(ctx, map[string]string{engineapi.LabelInstance: b.owner})
	for _, n := range nets {
		if strings.Contains(n.Name, mark) {
			out = append(out, "network "+n.Name)
		}
	}
	for _, err := range []error{err, err2, err3} {
		if err != nil {
			out = append(out, err.Error())
		}
	}
	for _, key := range b.keys() {
		if rec, err := b.state.Get(ctx, key); err == nil && strings.Contains(key+string(rec.Value), mark) {
			out = append(out, "record "+key)
		}
	}
	kept, err := b.vault.List(ctx, "acme")
	if err != nil {
		out = append(out, err.Error())
	}
	for _, m := range kept {
		if strings.Contains(m.Key, mark) {
			out = append(out, "secret "+m.Key)
		}
	}
	return out
}

func (b *bench) keys() []string {
	keys, err := b.state.List(context.Background(), "")
	if err != nil {
		b.t.Error(err)
	}
	return keys
}

func (b *bench) inspect(instance id.ID) []providertest.Container {
	ctx := context.Background()
	list, err := b.client.List(ctx, map[string]string{engineapi.LabelInstance: b.owner, engineapi.LabelWorkload: instance.String()})
	if err != nil {
		b.t.Error(err)
	}
	var full []*engineapi.ContainerState
	for i := range list {
		if c, err := b.client.Inspect(ctx, list[i].ID); err == nil && c.Running() {
			full = append(full, c)
		}
	}
	// The newest first: what traffic has just left runs on for a moment.
	slices.SortFunc(full, func(a, b *engineapi.ContainerState) int { return b.Created.Compare(a.Created) })
	var out []providertest.Container
	for _, c := range full {
		replica, _ := strconv.Atoi(c.Labels[engineapi.LabelReplica])
		out = append(out, providertest.Container{
			Service: c.Labels[engineapi.LabelMember], Replica: replica, Labels: c.Labels,
			CPUMillis: int(c.Resources.NanoCPUs / 1e6), MemoryMB: int(c.Resources.MemoryBytes >> 20), PidsLimit: c.Resources.PidsLimit,
		})
	}
	return out
}

// places is where a text is found that is kept or printed.
func (b *bench) places(text string) []string {
	ctx := context.Background()
	var out []string
	for _, key := range b.keys() {
		if rec, err := b.state.Get(ctx, key); err == nil && strings.Contains(string(rec.Value), text) {
			out = append(out, "record "+key)
		}
	}
	list, err := b.client.List(ctx, map[string]string{engineapi.LabelInstance: b.owner})
	if err != nil {
		b.t.Error(err)
	}
	for _, c := range list {
		for _, k := range slices.Sorted(maps.Keys(c.Labels)) {
			if strings.Contains(k+c.Labels[k], text) {
				out = append(out, "label "+k+" of "+c.Name)
			}
		}
	}
	if strings.Contains(b.log.String(), text) {
		out = append(out, "the provider's log")
	}
	return out
}

// safeBuffer is a buffer for many goroutines.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
