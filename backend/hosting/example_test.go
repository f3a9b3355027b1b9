package hosting_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"

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

// A lease is accepted, stepped until it is ready, and told about. In a daemon the
// provider is one on an engine, the store is on disk, the client is that of package
// egress, and an engine of controllers calls Step.
func Example() {
	ctx, state := context.Background(), provider.NewMemoryStore()
	cluster := memory.NewCluster(nil)
	defer cluster.Close()
	on := memory.New(memory.Options{Cluster: cluster, Store: state, Mode: memory.Stepped})
	defer on.Close()

	told := make(holder, 8)
	key, err := hmacauth.NewKey("0123456789abcdef0123456789abcdef")
	check(err)
	out, err := outbox.New(outbox.Config{Store: state, Prefix: "callbacks", Key: key, Client: &http.Client{Transport: told}})
	check(err)
	tiers, err := sku.New(sku.Config{
		Profiles: []sku.Profile{{Name: "small", CPUCores: 0.5, MemoryMB: 512}},
		Mapping:  []sku.Mapping{{SKU: "a1b2c3d4-e5f6-7890-abcd-1234567890ab", Profile: "small"}},
	})
	check(err)
	room, err := pool.New(pool.Config{Total: sku.Size{MilliCPU: 2000, MemoryMB: 2048}})
	check(err)
	images, err := manifest.NewPolicy("docker.io")
	check(err)

	h, err := hosting.Open(ctx, hosting.Config{
		Name: "docker-1", Provider: on, Store: state, Outbox: signed{out}, SKUs: tiers, Pool: room, Images: images,
		BindAddress: netip.MustParseAddr("127.0.0.1"), NewID: uuid.NewString, Now: time.Now,
	})
	check(err)
	const lease = "018f3c1e-7b2a-7c4d-9e5f-0123456789ab"
	check(h.Provision(ctx, backend.ProvisionRequest{
		LeaseUUID: lease, Tenant: "acme", CallbackURL: "https://holder.example/callbacks/provision",
		Items:   []backend.LeaseItem{{SKU: "small", Quantity: 2, ServiceName: "web"}},
		Payload: []byte(`{"services":{"web":{"image":"shop:1","ports":{"8080/tcp":{}}}}}`),
	}))
	fmt.Println("the holder is told", steps(ctx, h, lease, told))
	info, err := h.GetInfo(ctx, lease)
	check(err)
	fmt.Println(len(info.Services["web"].Instances), "instances,", room.Stats().ActiveContainers, "allocated")

	check(h.Deprovision(ctx, lease))
	fmt.Println("the holder is told", steps(ctx, h, lease, told))
	fmt.Println(room.Stats().ActiveContainers, "allocated")
	// Output:
	// the holder is told success
	// 2 instances, 2 allocated
	// the holder is told deprovisioned
	// 0 allocated
}

// steps calls Step until the holder is told something.
func steps(ctx context.Context, h *hosting.Hosting, lease string, told holder) backend.CallbackStatus {
	for {
		if _, err := h.Step(ctx, lease); err != nil {
			log.Print(err) // and try again
		}
		select {
		case status := <-told:
			return status
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// signed is an outbox as hosting knows it.
type signed struct{ *outbox.Outbox }

func (s signed) Add(ctx context.Context, op, lease, url string, p backend.CallbackPayload) error {
	return s.Outbox.Add(ctx, lease, url, op, p)
}

// holder takes callbacks, without a network.
type holder chan backend.CallbackStatus

func (h holder) RoundTrip(req *http.Request) (*http.Response, error) {
	var p backend.CallbackPayload
	if err := json.NewDecoder(req.Body).Decode(&p); err != nil {
		return nil, err
	}
	h <- p.Status
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
