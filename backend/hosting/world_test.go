package hosting_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/backendtest"
	"github.com/berth-cloud/berth/backend/hosting"
	"github.com/berth-cloud/berth/backend/hosting/manifest"
	"github.com/berth-cloud/berth/backend/hosting/pool"
	"github.com/berth-cloud/berth/backend/hosting/sku"
	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/memory"
	"github.com/berth-cloud/berth/provider/providertest/script"
	"github.com/berth-cloud/berth/secrets"
)

// SKUs: without a disk, with one, with a smaller one, and with a larger one.
const (
	micro = "018f3c1e-7b2a-7c4d-9e5f-00000000000a"
	disk  = "018f3c1e-7b2a-7c4d-9e5f-00000000000b"
	tiny  = "018f3c1e-7b2a-7c4d-9e5f-00000000000c"
	large = "018f3c1e-7b2a-7c4d-9e5f-00000000000d"
)

// world is a hosting on a cluster in memory, with its callbacks.
type world struct {
	t       testing.TB
	cluster *memory.Cluster
	records *provider.MemoryStore // the provider's
	store   *provider.MemoryStore // the leases'
	vault   secrets.Vault
	out     *postbox
	calls   *backendtest.Callbacks
	past    *past
	plane   *plane
	// Of the process that runs.
	noDomains bool
	logger    *slog.Logger
	retention hosting.Retention
	stamps    map[string]string // what a container found in its volume, or left there first
	before    map[string]string // what they found before
	guard     hosting.Guard
	machine   string
	ask       time.Duration // between two looks at a domain
	leave     time.Duration // that a lease waits for the data plane
	*hosting.Hosting
	pool *pool.Pool
	proc *proc
	mem  *memory.Provider

	mu      sync.Mutex
	op      int
	moments int
	// hook is told of every moment before and after an effect; see proc.
	hook     func(n int, what string) (err error, dies bool)
	loud     bool
	struck   bool          // a hook did something
	cuts     bool          // the provider may be cut off
	hangs    chan struct{} // looks at the provider wait for it
	blind    bool          // no row can be read
	down     bool          // the provider says nothing of any workload
	full     error         // of the outbox
	ahead    time.Duration // by which the hosting's time is
	stuck    error         // of the removal of volumes
	usage    func(volumes []string) (map[string]int64, error)
	idle     int            // calls of Deprovision that say they did what they did not
	slanders int            // looks that say that a workload has failed which has not
	dead     map[id.ID]bool // workloads that the provider says have failed
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		t: t, past: &past{}, plane: newPlane(), retention: hosting.Retention{OnClose: true}, stamps: map[string]string{}, dead: map[id.ID]bool{}, cluster: memory.NewCluster(nil), records: provider.NewMemoryStore(), store: provider.NewMemoryStore(), calls: new(backendtest.Callbacks), vault: secrets.NewMemory(),
	}
	t.Cleanup(w.cluster.Close)
	w.out = &postbox{calls: w.calls, known: map[string]bool{}, waiting: map[string][]backend.CallbackPayload{}}
	w.heal()
	w.open()
	return w
}

// image is a program with a volume, and /tmp as another one, which is none.
func (w *world) image(version string) memory.Image {
	return memory.Image{
		Env: map[string]string{"VERSION": version}, Entrypoint: []string{"/program"}, Command: []string{"listen:8080", "wait"},
		Volumes: []string{"/tmp", "/data"},
		Programs: map[string]memory.Program{"/program": func(ctx context.Context, p *memory.Process) int {
			w.stamp(p)
			return script.Run(ctx, process{p})
		}},
	}
}

// stamp has a container look whether another was there before, and leave its name if
// none was.
func (w *world) stamp(p *memory.Process) {
	found, err := p.ReadFile("/data/stamp")
	if err != nil {
		if found = []byte(p.Hostname()); p.WriteFile("/data/stamp", found) != nil {
			found = nil
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stamps[p.Hostname()] = string(found)
}

// found is what the containers of a lease that is ready found, by service/index.
func (w *world) found(lease string) map[string]string {
	info, err := w.GetInfo(context.Background(), lease)
	if err != nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]string{}
	for name, s := range info.Services {
		for _, one := range s.Instances {
			out[fmt.Sprint(name, "/", one.InstanceIndex)] = w.stamps[one.ContainerID]
		}
	}
	return out
}

// sicken has every program end at once, and heal no more.
func (w *world) sicken() { w.addImages(false) }
func (w *world) heal()   { w.addImages(true) }

func (w *world) addImages(well bool) {
	for _, version := range []string{"1", "2"} {
		image := w.image(version)
		run := image.Programs["/program"]
		image.Programs["/program"] = func(ctx context.Context, p *memory.Process) int {
			if !well {
				return 3
			}
			return run(ctx, p)
		}
		w.cluster.AddImage("docker.io/library/program:"+version, image)
	}
}

// giveAllUp has the time pass for which anything is retained.
func (w *world) giveAllUp(t testing.TB) {
	t.Helper()
	w.retention = hosting.Retention{OnClose: true, Grace: time.Hour}
	w.open()
	w.skip(2 * time.Hour)
	if !w.rest() {
		t.Fatal("it does not come to rest")
	}
	w.checkRest(t)
}

// process connects within the cluster.
type process struct{ *memory.Process }

func (p process) Dial(ctx context.Context, address string) (net.Conn, error) {
	return p.Process.Dial(ctx, address)
}

// open starts the hosting anew on what is stored.
func (w *world) open() {
	w.t.Helper()
	if err := w.tryOpen(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tryOpen() error {
	w.t.Helper()
	catalog, err := sku.New(sku.Config{
		Profiles: []sku.Profile{
			{Name: "micro", CPUCores: 0.25, MemoryMB: 64}, {Name: "disk", CPUCores: 0.25, MemoryMB: 64, DiskMB: 64}, {Name: "tiny", CPUCores: 0.25, MemoryMB: 64, DiskMB: 1},
			{Name: "large", CPUCores: 0.25, MemoryMB: 64, DiskMB: 128},
		},
		Mapping:         []sku.Mapping{{SKU: micro, Profile: "micro"}, {SKU: disk, Profile: "disk"}, {SKU: tiny, Profile: "tiny"}, {SKU: large, Profile: "large"}},
		DiskEnforcement: sku.DiskUnenforced,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.pool, err = pool.New(pool.Config{Total: sku.Size{MilliCPU: 25 * 250, MemoryMB: 64 * 25, DiskMB: 64 * 50}})
	if err != nil {
		w.t.Fatal(err)
	}
	images, err := manifest.NewPolicy("docker.io")
	if err != nil {
		w.t.Fatal(err)
	}
	ingress := w.plane.ingress(cmp.Or(w.machine, "boot-1"))
	if w.noDomains {
		ingress = nil
	}
	for range 3 { // a fault of the test may strike what is opened, too
		w.proc = &proc{w: w}
		w.mem = w.provider()
		w.Hosting, err = hosting.Open(context.Background(), hosting.Config{
			Name: "memory-1", Provider: mortal{w.mem, w.proc}, Store: traced{w.store, w.proc}, Outbox: lane{w.out, w.proc},
			SKUs: catalog, Pool: w.pool, Images: images, Ingress: ingress, Guard: w.guard, BindAddress: netip.MustParseAddr("127.0.0.1"),
			NewID: w.newID, Now: w.now, Logger: w.logger, Retention: w.retention,
			Timing: hosting.Timing{Provision: 20 * time.Second, Replace: 20 * time.Second, Rollback: 20 * time.Second, Call: 5 * time.Second, Ask: w.ask, Leave: w.leave},
		})
		if !errors.Is(err, errKilled) {
			break
		}
	}
	return err
}

func (w *world) provider() *memory.Provider {
	return memory.New(memory.Options{Cluster: w.cluster, Store: w.records, Vault: w.vault, Mode: memory.Stepped})
}

// now is the time of the hosting, which may be ahead.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

func (w *world) skip(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
}

func (w *world) newID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.op++
	return fmt.Sprint("op-", w.op)
}

// wait makes steps of every lease until cond holds.
func (w *world) wait(cond func() bool) bool {
	for range 3000 {
		if cond() {
			return true
		}
		w.push()
		leases, err := w.Leases(context.Background())
		if err != nil {
			w.t.Error(err)
			return false
		}
		for _, lease := range leases {
			_, err := w.Step(context.Background(), lease)
			if err != nil && w.loud {
				w.t.Logf("step: %v", err)
			}
		}
		<-time.After(50 * time.Millisecond)
	}
	return cond()
}

// push has the data plane take the routes.
func (w *world) push() {
	for _, wrong := range w.plane.sync(w.Routes()) {
		w.t.Error(wrong)
	}
}

// postbox is an outbox that delivers at once.
type postbox struct {
	calls *backendtest.Callbacks

	mu      sync.Mutex
	known   map[string]bool
	waiting map[string][]backend.CallbackPayload
}

func (o *postbox) Add(_ context.Context, op, lease, _ string, p backend.CallbackPayload) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.known[op] {
		o.known[op] = true
		o.waiting[lease] = append(o.waiting[lease], p)
	}
	return nil
}

func (o *postbox) Step(ctx context.Context, lease string) (time.Duration, error) {
	o.mu.Lock()
	due := o.waiting[lease]
	delete(o.waiting, lease)
	o.mu.Unlock()
	for _, p := range due {
		if err := o.calls.Deliver(ctx, p); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func (o *postbox) Pending(context.Context) ([]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for lease := range o.waiting {
		out = append(out, lease)
	}
	return out, nil
}
