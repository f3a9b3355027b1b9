package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/backend/hosting/outbox"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
)

const (
	walkLeases = 100_000
	walks      = 3
	// maxPageGrowth is how much longer a page may take of ten times as many leases.
	maxPageGrowth = 1.5
)

// house is a hosting on the memory provider and store, with a holder that
// acknowledges every callback at once.
type house struct {
	hosting *hosting.Hosting
	cluster *memory.Cluster
}

func newHouse(ctx context.Context) (*house, error) {
	const milliCPU, memoryMB = 250, 64
	catalog, err := sku.New(sku.Config{
		Profiles: []sku.Profile{{Name: "micro", CPUCores: 0.25, MemoryMB: memoryMB}}, Mapping: []sku.Mapping{{SKU: benchSKU, Profile: "micro"}},
	})
	if err != nil {
		return nil, err
	}
	room, err := pool.New(pool.Config{Total: sku.Size{MilliCPU: milliCPU * 2 * walkLeases, MemoryMB: memoryMB * 2 * walkLeases}})
	if err != nil {
		return nil, err
	}
	images, err := manifest.NewPolicy("docker.io")
	if err != nil {
		return nil, err
	}
	key, err := hmacauth.NewKey(backendSecret)
	if err != nil {
		return nil, err
	}
	store := provider.NewMemoryStore()
	box, err := outbox.New(outbox.Config{Store: store, Prefix: "callbacks", Key: key, Client: &http.Client{Transport: acknowledging{}}})
	if err != nil {
		return nil, err
	}
	h := &house{cluster: memory.NewCluster(nil)}
	var ops atomic.Int64
	h.hosting, err = hosting.Open(ctx, hosting.Config{
		Name: "bench", Provider: memory.New(memory.Options{Cluster: h.cluster, Store: provider.NewMemoryStore(), Mode: memory.Stepped}),
		Store: store, Outbox: inOrder{box}, SKUs: catalog, Pool: room, Images: images, BindAddress: netip.MustParseAddr("127.0.0.1"),
		NewID: func() string { return "op-" + strconv.FormatInt(ops.Add(1), 10) }, Now: time.Now,
	})
	if err != nil {
		h.cluster.Close()
		return nil, err
	}
	return h, nil
}

// acknowledging is a holder of leases who takes every callback.
type acknowledging struct{}

func (acknowledging) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// inOrder is the outbox as hosting knows it.
type inOrder struct{ *outbox.Outbox }

func (o inOrder) Add(ctx context.Context, op, lease, url string, p backend.CallbackPayload) error {
	return o.Outbox.Add(ctx, lease, url, op, p)
}

// lease provisions leases up to n, without waiting for any.
func (h *house) lease(ctx context.Context, from, n int) error {
	for i := from; i < n; i++ {
		if err := h.hosting.Provision(ctx, provisionOf(i)); err != nil {
			return fmt.Errorf("lease %d: %w", i, err)
		}
	}
	return nil
}

// measureWalk reads a list of all leases to its end, of a tenth and of all.
func measureWalk(ctx context.Context, _ options) (_ []line, err error) {
	h, err := newHouse(ctx)
	if err != nil {
		return nil, err
	}
	defer h.cluster.Close()
	handler, err := signedServer(h.hosting)
	if err != nil {
		return nil, err
	}
	var requests atomic.Int64
	s, err := serve(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler.ServeHTTP(w, r)
	}))
	if err != nil {
		return nil, err
	}
	defer s.stop()
	client := backend.NewHTTPClient(backend.HTTPClientConfig{Name: "bench", BaseURL: s.url, Secret: backendSecret, ProvisionsPageLimit: pageLeases})
	defer client.Close()
	walk := func(n int) (time.Duration, error) {
		var took []time.Duration
		for range walks {
			began := time.Now()
			all, err := client.ListProvisions(ctx)
			if err != nil {
				return 0, err
			}
			if len(all) != n {
				return 0, errors.New("the list has " + strconv.Itoa(len(all)) + " leases of " + strconv.Itoa(n))
			}
			took = append(took, time.Since(began))
		}
		return median(took), nil
	}
	if err := h.lease(ctx, 0, walkLeases/10); err != nil {
		return nil, err
	}
	tenth, err := walk(walkLeases / 10)
	if err != nil {
		return nil, err
	}
	if err := h.lease(ctx, walkLeases/10, walkLeases); err != nil {
		return nil, err
	}
	requests.Store(0)
	whole, err := walk(walkLeases)
	if err != nil {
		return nil, err
	}
	pages := float64(walkLeases / pageLeases)
	return []line{
		{
			What: fmt.Sprintf("backend, a walk of the client over all of %d leases of a hosting", walkLeases), Value: whole.Seconds(), Format: "%.2f s",
			Detail: fmt.Sprintf("%d signed requests for %d leases each; median of %d walks", requests.Load()/walks, pageLeases, walks),
		},
		{
			What: fmt.Sprintf("backend, a page of that walk, divided by a page of %d leases", walkLeases/10), Value: whole.Seconds() / pages / (tenth.Seconds() / (pages / 10)), Format: "%.2f ×", Target: maxPageGrowth,
			Detail: fmt.Sprintf("%s and %s a page", (whole / time.Duration(pages)).Round(10*time.Microsecond), (tenth / time.Duration(pages/10)).Round(10*time.Microsecond)),
		},
	}, nil
}
