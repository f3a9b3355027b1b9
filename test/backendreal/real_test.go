package backendreal_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	moby "github.com/moby/moby/client"
	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/backend"
	"github.com/berth-cloud/berth/backend/backendtest"
	"github.com/berth-cloud/berth/backend/callback"
	"github.com/berth-cloud/berth/backend/hmacauth"
	"github.com/berth-cloud/berth/internal/daemon/backendd"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
	"github.com/berth-cloud/berth/internal/store/sqlite"
	"github.com/berth-cloud/berth/test/images/image"
)

const (
	large   = "018f3c1e-7b2a-7c4d-9e5f-00000000000a"
	small   = "018f3c1e-7b2a-7c4d-9e5f-00000000000b"
	unknown = "018f3c1e-7b2a-7c4d-9e5f-0000000000ff"

	callbackPath = "/callbacks/provision"
)

// brief leaves out of a run of all tests what takes minutes on a real engine;
// `make conformance` runs every case.
const brief = "BERTH_TEST_BRIEF"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lab is one engine with the images of all cases.
type lab struct {
	socket     string
	engine     *moby.Client
	name       string
	repository string
	benches    atomic.Int64
}

func newLab(t *testing.T) *lab {
	l := &lab{socket: testimage.Socket(t), name: "real-" + strings.ToLower(rand.Text()[:8])}
	l.repository = "berth-test/" + l.name
	var err error
	if l.engine, err = image.Connect("unix://" + l.socket); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.engine.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	binary, err := image.Compile(ctx, "github.com/berth-cloud/berth/test/images/web")
	if err != nil {
		t.Fatal(err)
	}
	for tag, env := range map[string]map[string]string{
		"v1": {"VERSION": "v1"}, "v2": {"VERSION": "v2"}, "broken": {"VERSION": "broken", "MODE": "exit"},
	} {
		img, err := image.Assemble(binary, image.Config{Env: env, Volumes: []string{"/data"}})
		if err != nil {
			t.Fatal(err)
		}
		ref := l.repository + ":" + tag
		if _, err := image.Load(ctx, l.engine, ref, img); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if _, err := l.engine.ImageRemove(ctx, ref, moby.ImageRemoveOptions{Force: true}); err != nil {
				t.Error(err)
			}
		})
	}
	return l
}

func (l *lab) manifest(tag string) []byte {
	return fmt.Appendf(nil, `{"image":%q,"ports":{"8080/tcp":{}},"stop_grace_period":"1s"}`, l.repository+":"+tag)
}

const settings = `name: %[1]s
listen: 127.0.0.1:0
secret_file: secret
docker: unix://%[2]s
network_prefix: %[1]s
network_pool: 10.229.0.0/16
sku_profiles:
  large: {cpu_cores: 0.2, memory_mb: 32, disk_mb: 64}
  small: {cpu_cores: 0.2, memory_mb: 32, disk_mb: 32}
sku_mapping: {%[3]s: large, %[4]s: small}
disk_enforcement: none
total_cpu_cores: 20
total_memory_mb: 20000
total_disk_mb: 20000
retain_on_close: true
allowed_registries: [docker.io]
egress: {allow_loopback: true}
isolation: {firewall: off}
ingress: {wildcard_domain: leases.test, control: ingress.sock, dns_gate: {disabled: true}}
timing: {provision: 60s, replace: 60s, rollback: 30s}
`

// fixture is a backend of its own for one case. It ends, and what it has on the engine
// goes, with the case.
func (l *lab) fixture(t testing.TB) backendtest.Fixture {
	name := fmt.Sprintf("%s-%d", l.name, l.benches.Add(1))
	dir, secret := t.TempDir(), rand.Text()+rand.Text()
	for file, content := range map[string]string{"secret": secret + "\n", "backend.yaml": fmt.Sprintf(settings, name, l.socket, large, small)} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	calls := new(backendtest.Callbacks)
	client := backend.NewHTTPClient(backend.HTTPClientConfig{
		Name: name, BaseURL: "http://" + l.serve(t, dir).String(), Secret: secret, Timeout: 20 * time.Second,
		CBFailureThresh: 1 << 30, // errors are what many cases are about
	})
	t.Cleanup(client.Close)
	return backendtest.Fixture{
		Backend: client, Callbacks: calls, CallbackURL: receive(t, secret, calls),
		SKU: large, SmallerSKU: small, UnknownSKU: unknown, Huge: []backend.LeaseItem{{SKU: large, Quantity: 1000}},
		Manifest: l.manifest("v1"), Other: l.manifest("v2"), Broken: l.manifest("broken"),
		Invalid: []byte(`{"image":"docker.io/berth-test/none:1","privileged":true}`),
		Domain:  "shop.example.org", Wait: backendtest.Poll(50*time.Millisecond, 90*time.Second), Patience: 4 * time.Minute, Parallel: true,
	}
}

// serve runs the daemon until the test ends, and returns its address.
func (l *lab) serve(t testing.TB, dir string) net.Addr {
	data := filepath.Join(dir, "data")
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	addr, ended := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		ended <- backendd.Run(ctx, backendd.Options{
			ConfigFile: filepath.Join(dir, "backend.yaml"), DataDir: data, Socket: filepath.Join(dir, "s"),
			Serving: func(a net.Addr) { addr <- a },
		}, slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	}()
	select {
	case a := <-addr:
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			l.clear(t, data)
		})
		return a
	case err := <-ended:
		cancel()
		t.Fatal(err)
	case <-time.After(time.Minute):
		cancel()
		t.Fatal("the backend does not come to serve")
	}
	return nil
}

// receive is the URL of whoever holds the leases.
func receive(t testing.TB, secret string, calls *backendtest.Callbacks) string {
	v, err := hmacauth.NewVerifier(hmacauth.Config{Secrets: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(callbackPath, callback.NewReceiver(callback.Config{Auth: v, Deliver: calls.Deliver}))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close(); <-done })
	return "http://" + l.Addr().String() + callbackPath
}

// clear removes what a backend that has ended left on the engine.
func (l *lab) clear(t testing.TB, data string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	st, err := sqlite.Open(ctx, sqlite.Options{Dir: data})
	if err != nil {
		t.Error(err)
		return
	}
	owner, err := st.InstanceID(ctx)
	_ = st.Close()
	if err != nil {
		t.Error(err)
		return
	}
	gone := func(what string, err error) {
		if err != nil && !errdefs.IsNotFound(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	ours := make(moby.Filters).Add("label", docker.LabelInstance+"="+owner)
	containers, err := l.engine.ContainerList(ctx, moby.ContainerListOptions{All: true, Filters: ours})
	gone("list containers", err)
	for i := range containers.Items {
		_, err := l.engine.ContainerRemove(ctx, containers.Items[i].ID, moby.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		gone("remove a container", err)
	}
	networks, err := l.engine.NetworkList(ctx, moby.NetworkListOptions{Filters: ours})
	gone("list networks", err)
	for i := range networks.Items {
		_, err := l.engine.NetworkRemove(ctx, networks.Items[i].ID, moby.NetworkRemoveOptions{})
		gone("remove a network", err)
	}
	volumes, err := l.engine.VolumeList(ctx, moby.VolumeListOptions{Filters: ours})
	gone("list volumes", err)
	for i := range volumes.Items {
		_, err := l.engine.VolumeRemove(ctx, volumes.Items[i].Name, moby.VolumeRemoveOptions{})
		gone("remove a volume", err)
	}
}

func TestHostingOnARealEngineConforms(t *testing.T) {
	l := newLab(t)
	if os.Getenv(brief) == "" {
		backendtest.Run(t, l.fixture)
		return
	}
	ran, groups := 0, map[string]bool{}
	for _, c := range backendtest.Cases() {
		group, _, _ := strings.Cut(c.Name, "/")
		if groups[group] {
			continue
		}
		groups[group] = true
		ran++
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			c.Run(t, l.fixture(t))
		})
	}
	t.Logf("%s is set: the first case of every group, %d of %d; make conformance runs all", brief, ran, len(backendtest.Cases()))
}
