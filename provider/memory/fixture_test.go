package memory_test

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

// world is a cluster with everything around it.
type world struct {
	cluster *memory.Cluster
	store   *memory.Store
	vault   secrets.Vault
	log     *safeBuffer
	mode    memory.Mode
}

const tenant = "acme"

// newWorld must be made and used within one synctest bubble.
func newWorld(t testing.TB, mode memory.Mode) *world {
	w := &world{cluster: memory.NewCluster(nil), store: memory.NewStore(), vault: secrets.NewMemory(), log: &safeBuffer{}, mode: mode}
	t.Cleanup(w.cluster.Close)
	for _, version := range []string{"1", "2"} {
		w.cluster.AddImage("program:"+version, memory.Image{
			Env: map[string]string{"VERSION": version}, Entrypoint: []string{"/program"}, Command: []string{"listen:8080", "wait"},
			Programs: map[string]memory.Program{"/program": func(ctx context.Context, p *memory.Process) int { return script.Run(ctx, p) }},
		})
	}
	w.cluster.AddImage("unknown:1", memory.Image{Missing: true})
	return w
}

func (w *world) provider() *memory.Provider {
	return memory.New(memory.Options{
		Cluster: w.cluster, Store: w.store, Vault: w.vault, Mode: w.mode, Log: slog.New(slog.NewJSONHandler(w.log, nil)),
	})
}

func (w *world) fixture() providertest.Fixture {
	return providertest.Fixture{
		Provider: w.provider(), Vault: w.vault, Tenant: tenant,
		Images: providertest.Images{V1: "program:1", V2: "program:2", Unknown: "unknown:1"},
		Wait:   waitVirtual,
		Dial: func(ctx context.Context, ep provider.Endpoint) (net.Conn, error) {
			u, err := url.Parse(ep.URL)
			if err != nil {
				return nil, err
			}
			return w.cluster.Dial(ctx, u.Host)
		},
		Restart: func(keep bool) provider.Provider {
			if !keep {
				w.store = memory.NewStore()
			}
			return w.provider()
		},
		Leftovers: w.leftovers,
		Inspect: func(instance id.ID) []providertest.Container {
			var out []providertest.Container
			for _, c := range w.cluster.Inspect(instance) {
				out = append(out, providertest.Container{Service: c.Service, Replica: c.Replica, CPUMillis: c.CPUMillis, MemoryMB: c.MemoryMB, Labels: c.Labels})
			}
			return out
		},
		Places: w.places,
		Fault: func(f providertest.Fault) func() bool {
			return w.cluster.Script(memory.Fault{Call: f.Call, Kind: memory.FaultKind(f.Kind)})
		},
	}
}

// waitVirtual polls on the time of the bubble.
func waitVirtual(cond func() bool) bool {
	limit := time.Now().Add(2 * time.Minute)
	for !cond() {
		if time.Now().After(limit) {
			return false
		}
		<-time.After(10 * time.Millisecond)
	}
	return true
}

func (w *world) leftovers(instance id.ID) []string {
	out := w.cluster.Leftovers(instance)
	keys, _ := w.store.List(context.Background(), "")
	for _, key := range keys {
		if strings.Contains(key, instance.String()) {
			out = append(out, "record "+key)
		}
	}
	kept, _ := w.vault.List(context.Background(), tenant)
	for _, m := range kept {
		if strings.Contains(m.Key, instance.String()) {
			out = append(out, "secret "+m.Key)
		}
	}
	return out
}

func (w *world) places(text string) []string {
	var out []string
	keys, _ := w.store.List(context.Background(), "")
	for _, key := range keys {
		record, err := w.store.Get(context.Background(), key)
		if err == nil && strings.Contains(string(record.Value), text) {
			out = append(out, "record "+key)
		}
		instance, err := id.Parse(key[strings.LastIndexByte(key, '/')+1:])
		if err != nil {
			continue
		}
		for _, c := range w.cluster.Inspect(instance) {
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
