package qemu_test

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
	"github.com/berth-cloud/berth/instances/infra/qemu"
)

// create makes a machine that runs, or ends the test.
func (b *bench) create(ctx context.Context, p *qemu.Provider, change ...func(*infra.CreateInstanceRequest)) (infra.CreateInstanceRequest, *infra.Instance) {
	b.t.Helper()
	req := request("")
	for _, c := range change {
		c(&req)
	}
	inst, err := p.CreateInstance(ctx, req)
	if err != nil {
		b.t.Fatal(err)
	}
	return req, inst
}

// pid is that of a machine's one process.
func (b *bench) pid(instanceID string) int {
	b.t.Helper()
	found := processes(instanceID)
	if len(found) != 1 {
		b.t.Fatalf("processes: %v", found)
	}
	pid, err := strconv.Atoi(found[0])
	if err != nil {
		b.t.Fatal(err)
	}
	return pid
}

func TestAMachineIsNobodysChildAndItsImageIsOnlyRead(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	p := b.open(owner)
	req, _ := b.create(ctx, p)
	pid := b.pid(req.InstanceID)
	if session, err := unix.Getsid(pid); err != nil || session != pid {
		t.Errorf("the machine is in session %d of another, %v", session, err)
	}
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil || strings.Contains(string(status), "PPid:\t"+strconv.Itoa(os.Getpid())+"\n") {
		t.Errorf("the machine is a child of its provider: %v", err)
	}
	if !strings.Contains(string(status), "Seccomp:\t2") {
		t.Error("the machine's process may do what it likes")
	}
	for _, name := range []string{"seed.iso", "disk.qcow2", "machine.json", "life"} {
		if info, err := os.Stat(b.file(req.InstanceID, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v, not for its owner alone", name, info, err)
		}
	}
	fds, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	image := b.config.Images[qemu.DefaultName].Disk
	seen := false
	for _, fd := range fds {
		link, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/fd/" + fd.Name())
		if err != nil || link != image {
			continue
		}
		seen = true
		info, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/fdinfo/" + fd.Name())
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(info)) {
			if flags, ok := strings.CutPrefix(line, "flags:\t"); ok {
				if n, err := strconv.ParseInt(strings.TrimSpace(flags), 8, 64); err != nil || n&unix.O_ACCMODE != unix.O_RDONLY {
					t.Errorf("the image is open with flags %s", flags)
				}
			}
		}
	}
	if !seen {
		t.Error("the machine does not have its image open: this test cannot see how")
	}
	for {
		text, err := p.Console(ctx, req.InstanceID)
		if err != nil {
			t.Fatal(err)
		}
		if text == "U" {
			break
		}
		if text != "" || !hostdirtest.Pause(ctx) {
			t.Fatalf("the machine says %q on its console", text)
		}
	}
}

func TestAMachineThatPoweredItselfOffStaysOff(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	p := b.open(owner)
	req, made := b.create(ctx, p, func(r *infra.CreateInstanceRequest) { r.Args = map[string]any{"image": "off"} })
	b.becomes(ctx, p, req.InstanceID, infra.StatusStopped)
	again, err := p.CreateInstance(ctx, req)
	if err != nil || again.Status != infra.StatusStopped || again.ProviderInstanceID != made.ProviderInstanceID {
		t.Errorf("a repeated create of a machine that is off: %+v, %v", again, err)
	}
	if n := len(processes(req.InstanceID)); n != 0 {
		t.Errorf("%d processes of a machine that is off", n)
	}
	b.gone(ctx, p, req.InstanceID)
}

func TestAMachineThatIsKilledIsStoppedAndNoOtherIsTouched(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	p := b.open(owner)
	req, _ := b.create(ctx, p)
	other, _ := b.create(ctx, p)
	// Somebody who looks at its life, as this process does now, is not it.
	life, err := os.Open(b.file(req.InstanceID, "life"))
	if err != nil {
		t.Fatal(err)
	}
	defer life.Close()
	if err := p.KillMachine(ctx, req.InstanceID); err != nil {
		t.Fatal(err)
	}
	inst, err := p.GetInstanceStatus(ctx, req.InstanceID, "")
	if err != nil || inst.Status != infra.StatusStopped {
		t.Errorf("a machine that was killed: %+v, %v", inst, err)
	}
	if err := p.KillMachine(ctx, req.InstanceID); err != nil {
		t.Errorf("killed once more: %v", err)
	}
	if again, err := p.CreateInstance(ctx, req); err != nil || again.Status != infra.StatusStopped {
		t.Errorf("a repeated create brought a dead machine back: %+v, %v", again, err)
	}
	b.becomes(ctx, p, other.InstanceID, infra.StatusRunning)
	if err := p.KillMachine(ctx, request("").InstanceID); !infra.IsNotFound(err) {
		t.Errorf("kill of what never was: %v", err)
	}
}

// A process that is stopped answers nothing and ends by no command.
func TestAMachineThatHangsIsUnknownAndGoesByForce(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	now := time.Now()
	p, err := qemu.New(infra.Options{Owner: owner, Now: func() time.Time { return now }}, b.config)
	if err != nil {
		t.Fatal(err)
	}
	req, _ := b.create(ctx, p)
	if err := unix.Kill(b.pid(req.InstanceID), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	inst, err := p.GetInstanceStatus(short, req.InstanceID, "")
	if err != nil || inst.Status != infra.StatusUnknown {
		t.Errorf("a machine that hangs: %+v, %v", inst, err)
	}
	if err := p.DeleteInstance(ctx, req.InstanceID, ""); err != nil {
		t.Fatal(err)
	}
	inst, err = p.GetInstanceStatus(ctx, req.InstanceID, "")
	if err != nil || inst.Status != infra.StatusDeleting {
		t.Errorf("a machine that hangs and is to go: %+v, %v", inst, err)
	}
	now = now.Add(-time.Hour) // a clock that was set back is no reason to wait
	if err := p.DeleteInstance(ctx, req.InstanceID, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := p.GetInstanceStatus(ctx, req.InstanceID, ""); !infra.IsNotFound(err) || b.count(req.InstanceID) != 0 {
		t.Errorf("it is still there: %v", err)
	}
}

func TestAMachineKeepsWhatItWasMadeWith(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	req, made := b.create(ctx, b.open(owner))
	b.config.Images = map[string]qemu.Image{"other": {Kernel: "/nowhere"}}
	b.config.Types = map[string]qemu.Type{"other": qemu.DefaultType}
	p := b.open(owner)
	again, err := p.CreateInstance(ctx, req)
	if err != nil || again.ProviderInstanceID != made.ProviderInstanceID {
		t.Errorf("a repeated create with another configuration: %+v, %v", again, err)
	}
	for says, change := range map[string]func(*infra.CreateInstanceRequest){
		`no image "default"`:         func(*infra.CreateInstanceRequest) {},
		`the argument image is no`:   func(r *infra.CreateInstanceRequest) { r.Args = map[string]any{"image": 1} },
		`no instance type "default"`: func(r *infra.CreateInstanceRequest) { r.Args = map[string]any{"image": "other"} },
		`no subnet "lan"`:            func(r *infra.CreateInstanceRequest) { r.SubnetID = "lan" },
	} {
		req := request("")
		change(&req)
		if _, err := p.CreateInstance(ctx, req); !errors.Is(err, infra.ErrInvalidRequest) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %s", err, says)
		}
		if _, err := os.Stat(b.file(req.InstanceID, "")); err == nil {
			t.Errorf("%s: a folder is left", says)
		}
	}
}

// What the emulator says comes into the error, and the machine may still come to be.
func TestAMachineThatCannotStartSaysWhyAndStartsLater(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	kernel := b.t.TempDir() + "/kernel"
	b.config.Images["kernel"] = qemu.Image{Kernel: kernel}
	p := b.open(owner)
	req := request("")
	req.Args = map[string]any{"image": "kernel"}
	_, err := p.CreateInstance(ctx, req)
	if !errors.Is(err, infra.ErrAmbiguous) || !strings.Contains(err.Error(), "could not open kernel file") {
		t.Errorf("a machine without its kernel: %v", err)
	}
	if inst, err := p.GetInstanceStatus(ctx, req.InstanceID, ""); err != nil || inst.Status != infra.StatusPending {
		t.Errorf("a machine that could not start: %+v, %v", inst, err)
	}
	// An old kernel's boot sector, which is all that is looked at before the start.
	header := make([]byte, 64<<10)
	copy(header[0x1f1:], []byte{4})
	copy(header[0x1fe:], []byte{0x55, 0xaa})
	if err := os.WriteFile(kernel, header, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := p.CreateInstance(ctx, req); err != nil {
		t.Errorf("with its kernel: %v", err)
	}
	if n := b.count(req.InstanceID); n != 1 {
		t.Errorf("%d machines", n)
	}
}

func TestAnOwnerHasNoMoreMachinesThanItMay(t *testing.T) {
	b := newBench(t, func(c *qemu.Config) { c.MaxMachines = 1 })
	ctx := hostdirtest.Patient(t)
	p := b.open(owner)
	if room, err := p.CheckSubnetCapacity(ctx, ""); err != nil || !room {
		t.Errorf("room for the first: %v, %v", room, err)
	}
	first, _ := b.create(ctx, p)
	if room, err := p.CheckSubnetCapacity(ctx, ""); err != nil || room {
		t.Errorf("room for a second: %v, %v", room, err)
	}
	req := request("")
	if _, err := p.CreateInstance(ctx, req); !errors.Is(err, infra.ErrNoCapacity) {
		t.Errorf("a second: %v, not ErrNoCapacity", err)
	}
	if _, err := p.CreateInstance(ctx, first); err != nil {
		t.Errorf("the first once more: %v", err)
	}
	b.gone(ctx, p, first.InstanceID)
	if _, err := p.CreateInstance(ctx, req); err != nil {
		t.Errorf("in the place of the first: %v", err)
	}
}
