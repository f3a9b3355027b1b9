package vm

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/hub"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/qemu"
	"github.com/berth-cloud/berth/instances/wire"
	"github.com/berth-cloud/berth/instances/wire/wiretest"
	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/docker/engine"
	"github.com/berth-cloud/berth/secrets"
	"github.com/berth-cloud/berth/test/images/image"
	"github.com/berth-cloud/berth/test/vm/guest"
)

const (
	bootLimit = 5 * time.Minute
	limit     = 14 * time.Minute // of all, the making of the guest with it
	kind      = "knc"
	proofFile = "/etc/berth-proof"
)

var owner = infra.Owner{ClusterID: "vm-test", Shard: "one"}

func TestAVirtualMachineBootsTakesItsUserDataAndRunsAContainer(t *testing.T) {
	if os.Getenv("BERTH_TEST_VM") == "" {
		t.Skip("boots a real guest, which takes minutes; `make vm` does it")
	}
	if err := guest.Check(); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	// Who interrupts it is left without a machine too.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	g := build(ctx, t)
	p := open(t, g)
	ca := wiretest.NewCA(t)
	h, sub, port := serve(t, ca)

	req := infra.CreateInstanceRequest{
		ClusterID: owner.ClusterID, Shard: owner.Shard, Group: "vm", Template: "vm",
		InstanceKind: kind, InstanceID: id.New(kind).String(),
	}
	proof := "proof of " + req.InstanceID
	req.UserData = userData(t, ca, req.InstanceID, port, proof)
	removed := false
	t.Cleanup(func() {
		if !removed {
			clear(t, p, req.InstanceID)
		}
	})
	began := time.Now()
	if _, err := p.CreateInstance(ctx, req); err != nil {
		t.Fatal(err)
	}
	t.Logf("created in %v", since(began))
	node := connected(ctx, t, sub, req.InstanceID, began)
	t.Logf("boot: the agent is connected after %v, of at most %v", since(began), bootLimit)
	if node.Facts.Hostname != req.InstanceID {
		t.Errorf("the machine calls itself %q", node.Facts.Hostname)
	}

	dial := h.Dialer(req.InstanceID, wire.KindEngine)
	runs(ctx, t, dial, proof)
	t.Logf("a container has run after %v", since(began))

	// As after a restart of whoever made it.
	p = open(t, g, p.home)
	if inst, err := p.GetInstanceStatus(ctx, req.InstanceID, ""); err != nil || inst.Status != infra.StatusRunning {
		t.Errorf("found again: %+v, %v", inst, err)
	}
	began = time.Now()
	remove(t, p, req.InstanceID)
	removed = true
	took := time.Since(began)
	t.Logf("powered off and gone after %v", since(began))
	if took >= stopGrace {
		t.Errorf("it did not hear its power button within %v", stopGrace)
	}
}

func since(began time.Time) time.Duration { return time.Since(began).Round(100 * time.Millisecond) }

// build makes the guest with the agent of this checkout.
func build(ctx context.Context, t *testing.T) guest.Guest {
	t.Helper()
	agent, err := image.Compile(ctx, "github.com/berth-cloud/berth/cmd/berth-node")
	if err != nil {
		t.Fatal(err)
	}
	unit, err := os.ReadFile("../../packaging/systemd/berth-agent.service")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	g, err := guest.Build(ctx, guest.Options{
		Cache: filepath.Join(cache, "berth", "vm"), Agent: agent, Unit: unit,
		Say: func(s string) { t.Log(s) }, Now: began,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the guest is there after %v", since(began))
	return g
}

const stopGrace = 90 * time.Second

// provider is one with the folder in which it makes its machines.
type provider struct {
	*qemu.Provider
	home string
}

func open(t *testing.T, g guest.Guest, home ...string) provider {
	t.Helper()
	c := qemu.Config{
		Images: map[string]qemu.Image{qemu.DefaultName: {Disk: g.Disk, Format: "raw", Kernel: g.Kernel, Initrd: g.Initrd, Append: g.Append}},
		Types:  map[string]qemu.Type{qemu.DefaultName: {CPUs: 2, MemoryMiB: 1024}}, StopGrace: stopGrace,
	}
	for at, name := range map[*string]string{&c.Program: "qemu-system-x86_64", &c.ImageTool: "qemu-img"} {
		var err error
		if *at, err = exec.LookPath(name); err != nil {
			t.Skipf("a machine needs it: %v", err)
		}
	}
	if c.Dir = strings.Join(home, ""); c.Dir == "" {
		c.Dir = t.TempDir()
	}
	p, err := qemu.New(infra.Options{Owner: owner, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}, c)
	if err != nil {
		t.Fatal(err)
	}
	return provider{p, c.Dir}
}

// serve runs a hub that the guest reaches at the host's address in its network.
func serve(t *testing.T, ca *wiretest.CA) (*hub.Hub, *hub.Subscription, string) {
	t.Helper()
	cert := ca.Issue(t, wiretest.Leaf{Role: wire.RoleServer, Name: "berth", Addresses: []net.IP{net.ParseIP(qemu.UserHost)}})
	h, err := hub.New(hub.Options{Certificate: wiretest.Held(cert), Roots: ca.Roots()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sub := h.Subscribe(1000)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- h.Serve(ctx, l) }()
	t.Cleanup(func() {
		sub.Close()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return h, sub, port
}

// userData has the agent's folder in it, with an identity that is registered already.
func userData(t *testing.T, ca *wiretest.CA, instanceID, port, proof string) secrets.Secret {
	t.Helper()
	cert := ca.Agent(t, instanceID)
	folder := wiretest.Folder(t, ca, wiretest.Machine{Instance: instanceID, Agent: net.JoinHostPort(qemu.UserHost, port), Cert: &cert})
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("#cloud-config\nwrite_files:\n")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "- {path: /var/lib/berth/agent/%s, permissions: '0600', content: %q}\n", filepath.Base(name), text)
	}
	fmt.Fprintf(&b, "- {path: %s, content: %q}\n", proofFile, proof)
	b.WriteString("runcmd:\n- [systemctl, enable, --now, --no-block, berth-agent.service]\n")
	return secrets.NewSecretString(b.String())
}

// connected waits for the machine's agent.
func connected(ctx context.Context, t *testing.T, sub *hub.Subscription, instanceID string, began time.Time) hub.Node {
	t.Helper()
	ctx, cancel := context.WithDeadline(ctx, began.Add(bootLimit))
	defer cancel()
	for {
		select {
		case e := <-sub.Events():
			if e.Kind == hub.EventConnected && e.Node.InstanceID == instanceID {
				return e.Node
			}
		case <-ctx.Done():
			t.Fatalf("no agent within %v", bootLimit)
		}
	}
}

// runs loads an image into the machine's engine, runs it there, and reads what came with
// the user data from inside its container.
func runs(ctx context.Context, t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error), proof string) {
	t.Helper()
	e, err := engine.New(engine.Options{Host: "machine", Dial: func(ctx context.Context) (net.Conn, error) { return dial(ctx, "", "") }})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	info, err := answers(ctx, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the engine: %+v", info)
	program, err := image.Compile(ctx, "github.com/berth-cloud/berth/test/images/probe")
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Assemble(program, image.Config{})
	if err != nil {
		t.Fatal(err)
	}
	loader, err := client.New(client.WithHost("http://machine"), client.WithDialContext(dial))
	if err != nil {
		t.Fatal(err)
	}
	defer loader.Close()
	if _, err := image.Load(ctx, loader, "probe:vm", img); err != nil {
		t.Fatal(err)
	}
	container, err := e.Create(ctx, docker.ContainerSpec{
		Name: "proof", Image: "probe:vm", Command: []string{"read:/proof", "wait"},
		Mounts: []docker.Mount{{HostPath: proofFile, Path: "/proof", ReadOnly: true}},
	})
	if err == nil {
		err = e.Start(ctx, container)
	}
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for said == "" {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the container says nothing")
		}
		err := e.Logs(ctx, container, docker.LogOptions{}, func(l docker.LogLine) error {
			said += l.Text
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if said != proof {
		t.Errorf("the container read %q, not %q", said, proof)
	}
	if state, err := e.Inspect(ctx, container); err != nil || !state.Running() {
		t.Errorf("the container: %+v, %v", state, err)
	}
}

// answers waits for the engine, which may come up after the agent.
func answers(ctx context.Context, e *engine.Client) (docker.EngineInfo, error) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		info, err := e.Info(ctx)
		if err == nil {
			return info, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return info, err
		}
	}
}

// remove deletes a machine until it is gone, which must not take for ever.
func remove(t *testing.T, p provider, instanceID string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), stopGrace+time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := p.DeleteInstance(ctx, instanceID, ""); err != nil {
			t.Fatalf("delete: %v", err)
		}
		if _, err := p.GetInstanceStatus(ctx, instanceID, ""); infra.IsNotFound(err) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the machine does not go")
		}
	}
}

// clear ends a machine of a test that failed, and says what it last said.
func clear(t *testing.T, p provider, instanceID string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
	defer cancel()
	text, err := p.Console(ctx, instanceID)
	t.Logf("console: %v\n%s", err, text)
	if err := p.KillMachine(ctx, instanceID); err != nil {
		t.Errorf("kill: %v", err)
	}
	remove(t, p, instanceID)
}
