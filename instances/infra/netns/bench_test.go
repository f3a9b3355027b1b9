package netns_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
	"github.com/berth-cloud/berth/instances/infra/netns"
)

var owner = infra.Owner{ClusterID: "netns-suite", Shard: "one"}

// bench is a place for machines, and the providers that are open for it.
type bench struct {
	t      testing.TB
	config netns.Config
	log    *hostdirtest.Buffer
}

// newBench skips, with the reason, where no machine can be made. What the test
// leaves is removed at its end, and then nothing of it may be there.
func newBench(t testing.TB, change ...func(*netns.Config)) *bench {
	t.Helper()
	if testing.Short() {
		t.Skip("makes real machines, and this is a short run")
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces and dockerd need root")
	}
	var engine string
	for _, program := range []string{"ip", "dockerd"} {
		found, err := exec.LookPath(program)
		if err != nil {
			t.Skipf("a machine needs %s: %v", program, err)
		}
		engine = found
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, log: &hostdirtest.Buffer{}, config: netns.Config{
		Dir: filepath.Join(t.TempDir(), "machines"), Program: []string{self, initCommand}, Engine: engine,
		Subnets:   map[string]netip.Prefix{netns.DefaultSubnet: netip.MustParsePrefix("10.234.0.0/20")},
		StopGrace: 2 * time.Second,
	}}
	for _, c := range change {
		c(&b.config)
	}
	b.open(owner)
	t.Cleanup(b.clear)
	return b
}

func (b *bench) open(o infra.Owner) *netns.Provider {
	b.t.Helper()
	p, err := netns.New(infra.Options{Owner: o, Logger: slog.New(slog.NewTextHandler(b.log, nil))}, b.config)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) home(o infra.Owner) string {
	return hostdirtest.Home(b.config.Dir, o)
}

// clear removes all machines of the test's owner, and looks for what is left.
func (b *bench) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if b.t.Failed() {
		b.t.Log(b.log.String())
		logs, _ := filepath.Glob(filepath.Join(b.home(owner), "*", "log", "*"))
		for _, name := range logs {
			text, _ := os.ReadFile(name)
			b.t.Logf("%s:\n%s", filepath.Base(name), text)
		}
	}
	p := b.open(owner)
	all, err := infra.ListAll(ctx, p, owner)
	if err != nil {
		b.t.Error(err)
	}
	for _, inst := range all {
		b.gone(ctx, p, inst.InstanceID)
		for _, left := range leftOf(inst.ProviderInstanceID) {
			b.t.Errorf("left of %s: %s", inst.InstanceID, left)
		}
	}
}

// gone deletes a machine until it is not found.
func (b *bench) gone(ctx context.Context, p infra.Provider, instanceID string) {
	b.t.Helper()
	hostdirtest.Gone(ctx, b.t, p, instanceID)
}

// leftOf is what the host has of a machine: its network, its cgroups and mounts.
func leftOf(providerID string) []string {
	var left []string
	look := func(pattern string) {
		found, _ := filepath.Glob(pattern)
		left = append(left, found...)
	}
	look("/run/netns/" + providerID)
	look("/sys/fs/cgroup/berth-machines/" + providerID)
	look("/sys/fs/cgroup/*/berth-machines/" + providerID)
	suffix := providerID[len(providerID)-8:]
	links, _ := net.Interfaces()
	for _, l := range links {
		if strings.HasPrefix(l.Name, "bm") && strings.HasSuffix(l.Name, suffix) {
			left = append(left, "link "+l.Name)
		}
	}
	return left
}

var firstInside = regexp.MustCompile(`(?m)^NSpid:.*\s1$`)

// firstProcesses are those of a machine's folder, by pid. What one of them is about
// to start looks like it until then, and is not the first in its namespace.
func firstProcesses(folder string) []string {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, name := range lines {
		raw, err := os.ReadFile(name)
		if err != nil || !strings.HasSuffix(string(raw), "\x00init\x00"+folder+"\x00") {
			continue
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(name), "status"))
		if err == nil && firstInside.Match(status) {
			found = append(found, filepath.Base(filepath.Dir(name)))
		}
	}
	return found
}

func request(files string) infra.CreateInstanceRequest { return hostdirtest.Request(owner, files) }

// until looks until it is so.
func until(ctx context.Context, t testing.TB, what string, is func() bool) {
	t.Helper()
	for !is() {
		if !hostdirtest.Pause(ctx) {
			t.Fatalf("%s: not in time", what)
		}
	}
}

func (b *bench) running(ctx context.Context, p infra.Provider, instanceID string) infra.Instance {
	b.t.Helper()
	var inst *infra.Instance
	until(ctx, b.t, "the machine runs", func() (ok bool) {
		var err error
		if inst, err = p.GetInstanceStatus(ctx, instanceID, ""); err != nil {
			b.t.Fatal(err)
		}
		if inst.Status == infra.StatusStopped {
			b.t.Fatal("the machine is stopped")
		}
		return inst.Status == infra.StatusRunning
	})
	return *inst
}

// place puts a record with these tags there that no provider wrote, and a network
// of its name.
func (b *bench) place(tags map[string]string) (providerID string, there func() bool) {
	b.t.Helper()
	instanceID := tags[infra.TagInstance]
	if instanceID == "" {
		instanceID = id.New(hostdirtest.Kind).String()
	}
	providerID = fmt.Sprintf("berth-foreign-%d", time.Now().UnixNano())
	folder := filepath.Join(b.home(owner), instanceID)
	record, err := json.Marshal(map[string]any{"Version": 1, "InstanceID": instanceID, "ProviderID": providerID, "Tags": tags, "Link": "10.234.0.0/30"})
	if err == nil {
		err = os.Mkdir(folder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "machine.json"), record, 0o600)
	}
	if err == nil {
		err = exec.CommandContext(b.t.Context(), "ip", "netns", "add", providerID).Run()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := exec.CommandContext(context.WithoutCancel(b.t.Context()), "ip", "netns", "delete", providerID).Run(); err != nil {
			b.t.Errorf("remove the foreign network: %v", err)
		}
	})
	return providerID, func() bool {
		_, err1 := os.Stat(filepath.Join(folder, "machine.json"))
		_, err2 := os.Stat("/run/netns/" + providerID)
		return err1 == nil && err2 == nil
	}
}
