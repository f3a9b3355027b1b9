package memorytest

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/providertest"
	"github.com/berth-cloud/berth/provider/providertest/script"
	"github.com/berth-cloud/berth/secrets"
)

// World is a cluster with everything around it.
type World struct {
	Cluster *memory.Cluster
	Store   *provider.MemoryStore
	Vault   secrets.Vault
	log     *safeBuffer
	mode    memory.Mode

	// Wrap, when set, changes every Provider that the Fixture gives out.
	Wrap func(*memory.Provider) provider.Provider
}

// Tenant owns what is made in a World.
const Tenant = "acme"

// New makes a World that ends with the test. In a bubble of testing/synctest it
// is to be made and used within it; then no wait takes real time.
func New(t testing.TB, mode memory.Mode) *World {
	w := &World{Cluster: memory.NewCluster(nil), Store: provider.NewMemoryStore(), Vault: secrets.NewMemory(), log: &safeBuffer{}, mode: mode}
	t.Cleanup(w.Cluster.Close)
	w.Dial(func(ctx context.Context, p *memory.Process, address string) (net.Conn, error) {
		return p.Dial(ctx, address)
	})
	w.Cluster.AddImage("unknown:1", memory.Image{Missing: true})
	return w
}

// Dial makes the programs of the images connect by another way. Containers that are
// made before keep theirs.
func (w *World) Dial(dial func(ctx context.Context, p *memory.Process, address string) (net.Conn, error)) {
	program := func(ctx context.Context, p *memory.Process) int { return script.Run(ctx, process{p, dial}) }
	for _, version := range []string{"1", "2"} {
		w.Cluster.AddImage("program:"+version, memory.Image{
			Env: map[string]string{"VERSION": version}, Entrypoint: []string{"/program"}, Command: []string{"listen:8080", "wait"},
			Programs: map[string]memory.Program{"/program": program},
		})
	}
}

// process is a memory.Process that connects as it is told.
type process struct {
	*memory.Process
	dial func(ctx context.Context, p *memory.Process, address string) (net.Conn, error)
}

var _ script.Host = process{}

// Dial implements script.Host.
func (p process) Dial(ctx context.Context, address string) (net.Conn, error) {
	return p.dial(ctx, p.Process, address)
}

// Provider is a new process on what is there.
func (w *World) Provider() provider.Provider {
	p := memory.New(memory.Options{
		Cluster: w.Cluster, Store: w.Store, Vault: w.Vault, Mode: w.mode, Log: slog.New(slog.NewJSONHandler(w.log, nil)),
	})
	if w.Wrap != nil {
		return w.Wrap(p)
	}
	return p
}

// Fixture is the World for the suite.
func (w *World) Fixture() providertest.Fixture {
	return providertest.Fixture{
		Provider: w.Provider(), Vault: w.Vault, Tenant: Tenant,
		Images: providertest.Images{V1: "program:1", V2: "program:2", Unknown: "unknown:1"},
		Wait:   wait,
		Dial: func(ctx context.Context, ep provider.Endpoint) (net.Conn, error) {
			u, err := url.Parse(ep.URL)
			if err != nil {
				return nil, err
			}
			return w.Cluster.Dial(ctx, u.Host)
		},
		Restart: func(keep bool) provider.Provider {
			if !keep {
				w.Store = provider.NewMemoryStore()
			}
			return w.Provider()
		},
		Leftovers: w.leftovers,
		Inspect: func(instance id.ID) []providertest.Container {
			var out []providertest.Container
			for _, c := range w.Cluster.Inspect(instance) {
				out = append(out, providertest.Container{Service: c.Service, Replica: c.Replica, CPUMillis: c.CPUMillis, MemoryMB: c.MemoryMB, PidsLimit: c.PidsLimit, Labels: c.Labels})
			}
			return out
		},
		Places: w.places,
		Fault: func(f providertest.Fault) func() bool {
			return w.Cluster.Script(memory.Fault{Call: f.Call, Kind: memory.FaultKind(f.Kind)})
		},
	}
}

// wait polls, on virtual time in a bubble.
func wait(cond func() bool) bool {
	limit := time.Now().Add(90 * time.Second)
	for !cond() {
		if time.Now().After(limit) {
			return false
		}
		<-time.After(25 * time.Millisecond)
	}
	return true
}

func (w *World) leftovers(instance id.ID) []string {
	out := w.Cluster.Leftovers(instance)
	keys, _ := w.Store.List(context.Background(), "")
	for _, key := range keys {
		if strings.Contains(key, instance.String()) {
			out = append(out, "record "+key)
		}
	}
	kept, _ := w.Vault.List(context.Background(), Tenant)
	for _, m := range kept {
		if strings.Contains(m.Key, instance.String()) {
			out = append(out, "secret "+m.Key)
		}
	}
	return out
}

func (w *World) places(text string) []string {
	var out []string
	keys, _ := w.Store.List(context.Background(), "")
	for _, key := range keys {
		record, err := w.Store.Get(context.Background(), key)
		if err == nil && strings.Contains(string(record.Value), text) {
			out = append(out, "record "+key)
		}
		instance, err := id.Parse(key[strings.LastIndexByte(key, '/')+1:])
		if err != nil {
			continue
		}
		for _, c := range w.Cluster.Inspect(instance) {
			if strings.Contains(fmt.Sprint(c.Labels), text) {
				out = append(out, "labels of "+c.ID)
			}
		}
	}
	if strings.Contains(w.log.String(), text) {
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
