package qemu_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
	"github.com/berth-cloud/berth/instances/infra/qemu"
)

var owner = infra.Owner{ClusterID: "qemu-suite", Shard: "one"}

// bench is a place for machines, and the providers that are open for it.
type bench struct {
	t      testing.TB
	config qemu.Config
	log    *hostdirtest.Buffer
}

// What a machine of these tests boots: a sector that the firmware finds on its disk.
// All but the kernel of a guest is real, and it starts in no time.
var (
	// idle says U on its console and does nothing more:
	// mov dx, 0x3f8; mov al, 'U'; out dx, al; cli; again: hlt; jmp again.
	idle = []byte{0xba, 0xf8, 0x03, 0xb0, 'U', 0xee, 0xfa, 0xf4, 0xeb, 0xfd}
	// off powers the machine off, by the port at which this chipset's firmware puts
	// its power management: mov dx, 0x604; mov ax, 0x2000; out dx, ax; cli; hlt.
	off = []byte{0xba, 0x04, 0x06, 0xb8, 0x00, 0x20, 0xef, 0xfa, 0xf4}
)

// bootDisk is a disk of two MiB: the firmware reads none that is smaller than a cylinder.
func bootDisk(code []byte) []byte {
	disk := make([]byte, 2<<20)
	copy(disk, code)
	disk[510], disk[511] = 0x55, 0xaa
	return disk
}

// newBench skips, with the reason, where no machine can be made. What the test
// leaves is removed at its end, and then nothing of it may be there.
func newBench(t testing.TB, change ...func(*qemu.Config)) *bench {
	t.Helper()
	if os.Getenv("BERTH_TEST_VM") == "" {
		t.Skip("boots virtual machines: `make vm` sets BERTH_TEST_VM=1")
	}
	var programs []string
	for _, program := range []string{"qemu-system-x86_64", "qemu-img"} {
		found, err := exec.LookPath(program)
		if err != nil {
			t.Skipf("a machine needs %s: %v", program, err)
		}
		programs = append(programs, found)
	}
	dir := t.TempDir()
	images := map[string]qemu.Image{}
	for name, code := range map[string][]byte{qemu.DefaultName: idle, "off": off} {
		path := filepath.Join(dir, name+".img")
		if err := os.WriteFile(path, bootDisk(code), 0o400); err != nil {
			t.Fatal(err)
		}
		images[name] = qemu.Image{Disk: path, Format: "raw"}
	}
	b := &bench{t: t, log: &hostdirtest.Buffer{}, config: qemu.Config{
		// Long, as a socket's address may not be.
		Dir: filepath.Join(dir, strings.Repeat("long-", 20), "machines"), Program: programs[0], ImageTool: programs[1],
		Images: images, Types: map[string]qemu.Type{qemu.DefaultName: {CPUs: 1, MemoryMiB: 64}},
		StopGrace: 200 * time.Millisecond,
	}}
	for _, c := range change {
		c(&b.config)
	}
	b.open(owner)
	t.Cleanup(b.clear)
	return b
}

func (b *bench) open(o infra.Owner) *qemu.Provider {
	b.t.Helper()
	p, err := qemu.New(infra.Options{Owner: o, Logger: slog.New(slog.NewTextHandler(b.log, nil))}, b.config)
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) home(o infra.Owner) string {
	return hostdirtest.Home(b.config.Dir, o)
}

func (b *bench) file(instanceID, name string) string {
	return filepath.Join(b.home(owner), instanceID, name)
}

// clear removes all machines of the test's owner, and looks for what is left.
func (b *bench) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if b.t.Failed() {
		b.t.Log(b.log.String())
	}
	p := b.open(owner)
	all, err := infra.ListAll(ctx, p, owner)
	if err != nil {
		b.t.Error(err)
	}
	for _, inst := range all {
		b.gone(ctx, p, inst.InstanceID)
	}
}

// gone deletes a machine until it is not found, and nothing is left.
func (b *bench) gone(ctx context.Context, p infra.Provider, instanceID string) {
	b.t.Helper()
	hostdirtest.Gone(ctx, b.t, p, instanceID)
	if n := b.count(instanceID); n != 0 {
		b.t.Errorf("%s is not found, and there are %d of it", instanceID, n)
	}
}

// processes are those of an instance's machines, by pid.
func processes(instanceID string) []string {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, name := range lines {
		raw, err := os.ReadFile(name)
		if err != nil || !strings.Contains(string(raw), "qemu-system") {
			continue
		}
		if strings.Contains(string(raw), "\x00-name\x00"+instanceID+"\x00") {
			found = append(found, filepath.Base(filepath.Dir(name)))
		}
	}
	return found
}

// count is how many machines of an instance there are: processes, or else folders,
// as something is left while one is there.
func (b *bench) count(instanceID string) int {
	n := len(processes(instanceID))
	if _, err := os.Stat(b.file(instanceID, "")); err == nil {
		n = max(n, 1)
	}
	return n
}

func request(userData string) infra.CreateInstanceRequest {
	return hostdirtest.Request(owner, userData)
}

// becomes waits until a machine is so.
func (b *bench) becomes(ctx context.Context, p infra.Provider, instanceID string, want infra.Status) {
	b.t.Helper()
	for {
		inst, err := p.GetInstanceStatus(ctx, instanceID, "")
		if err != nil {
			b.t.Fatal(err)
		}
		if inst.Status == want {
			return
		}
		if !hostdirtest.Pause(ctx) {
			b.t.Fatalf("the machine is %s, and not %s in time", inst.Status, want)
		}
	}
}

// place puts a record with these tags there that no provider wrote, and a disk.
func (b *bench) place(tags map[string]string) (providerID string, there func() bool) {
	b.t.Helper()
	instanceID := tags[infra.TagInstance]
	if instanceID == "" {
		instanceID = id.New(hostdirtest.Kind).String()
	}
	providerID = fmt.Sprintf("foreign-%d", time.Now().UnixNano())
	record, err := json.Marshal(map[string]any{"Version": 1, "InstanceID": instanceID, "ProviderID": providerID, "Tags": tags})
	if err == nil {
		err = os.Mkdir(b.file(instanceID, ""), 0o700)
	}
	if err == nil {
		err = os.WriteFile(b.file(instanceID, "machine.json"), record, 0o600)
	}
	if err == nil {
		err = os.WriteFile(b.file(instanceID, "disk.qcow2"), nil, 0o600)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return providerID, func() bool {
		_, err1 := os.Stat(b.file(instanceID, "machine.json"))
		_, err2 := os.Stat(b.file(instanceID, "disk.qcow2"))
		return err1 == nil && err2 == nil
	}
}
