package admintest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/hosting/resolvable"
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

func now() time.Time { return Epoch }

// nobody is whoever should take the callbacks, and is not there.
type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("nobody is there")
}

// handOver is the outbox as hosting knows it.
type handOver struct{ *outbox.Outbox }

// Add implements hosting.Outbox.
func (o handOver) Add(ctx context.Context, op, lease, url string, payload backend.CallbackPayload) error {
	return o.Outbox.Add(ctx, lease, url, op, payload)
}

// plane is a data plane that takes every route, but for hosts that begin with "taken.",
// and the DNS, which knows every domain but those that begin with "nowhere.".
type plane struct{}

func (plane) Check(_ context.Context, domain string) error {
	if strings.HasPrefix(domain, "nowhere.") {
		return resolvable.ErrNoAddress
	}
	return nil
}

func (plane) Changed() {}

func (plane) Host(host, _ string) hosting.Answer {
	if strings.HasPrefix(host, "taken.") {
		return hosting.Refused
	}
	return hosting.Served
}

func (plane) Left(string) bool { return true }

func (d *Daemon) host(ctx context.Context, store provider.StateStore) error {
	d.mem = memory.New(memory.Options{Mode: memory.Stepped})
	for version, word := range map[string]string{"1": "one", "2": "two"} {
		d.mem.Cluster().AddImage("docker.io/library/shop:"+version, memory.Image{
			Entrypoint: []string{"/serve"}, Programs: map[string]memory.Program{"/serve": func(ctx context.Context, p *memory.Process) int {
				_, _ = io.WriteString(p.Stdout(), word+" listens\n\x1b[2Jhello\n")
				return memory.Serve(ctx, p)
			}},
		})
	}
	d.mem.Cluster().AddImage("docker.io/library/store:1", memory.Image{
		Entrypoint: []string{"/serve"}, Volumes: []string{"/data"}, Programs: map[string]memory.Program{"/serve": func(ctx context.Context, p *memory.Process) int {
			return memory.Serve(ctx, p)
		}},
	})
	d.mem.Cluster().AddImage("docker.io/library/broken:1", memory.Image{
		Entrypoint: []string{"/fail"}, Programs: map[string]memory.Program{"/fail": func(context.Context, *memory.Process) int { return 3 }},
	})
	key, err := hmacauth.NewKey("0123456789abcdef0123456789abcdef")
	if err != nil {
		return err
	}
	if d.outbox, err = outbox.New(outbox.Config{
		Store: store, Prefix: "callbacks", Key: key, Client: &http.Client{Transport: nobody{}}, Now: now, Rand: func() float64 { return 0 },
	}); err != nil {
		return err
	}
	catalog, err := sku.New(sku.Config{
		Profiles: []sku.Profile{{Name: "micro", CPUCores: 0.25, MemoryMB: 64}, {Name: "disk", CPUCores: 0.25, MemoryMB: 64, DiskMB: 128}},
		Mapping: []sku.Mapping{
			{SKU: "018f3c1e-7b2a-7c4d-9e5f-00000000000a", Profile: "micro"}, {SKU: "018f3c1e-7b2a-7c4d-9e5f-00000000000b", Profile: "disk"},
		},
		DiskEnforcement: sku.DiskUnenforced,
	})
	if err != nil {
		return err
	}
	if d.pool, err = pool.New(pool.Config{Total: sku.Size{MilliCPU: 2000, MemoryMB: 512, DiskMB: 1024}}); err != nil {
		return err
	}
	images, err := manifest.NewPolicy("docker.io")
	if err != nil {
		return err
	}
	var ops atomic.Int64
	d.Hosting, err = hosting.Open(ctx, hosting.Config{
		Name: "memory-1", Provider: d.mem, Store: store, Outbox: handOver{d.outbox}, SKUs: catalog, Pool: d.pool, Images: images,
		BindAddress: netip.MustParseAddr("127.0.0.1"), Now: now, NewID: func() string { return fmt.Sprint("op-", ops.Add(1)) },
		Timing:    hosting.Timing{Recheck: 20 * time.Millisecond},
		Retention: hosting.Retention{OnClose: true, Grace: 24 * time.Hour},
		Ingress:   &hosting.Ingress{Wildcard: "leases.example.net", Gate: plane{}, Router: plane{}, Machine: "boot-1"},
	})
	return err
}
