package qemu_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra"
	"github.com/berth-cloud/berth/instances/infra/hostdir/hostdirtest"
	"github.com/berth-cloud/berth/instances/infra/qemu"
)

// createMain makes one machine, with the settings and the instance id that it is given.
func createMain(settings, instanceID string) int {
	var o map[string]any
	err := json.Unmarshal([]byte(settings), &o)
	if err == nil {
		var p infra.Provider
		if p, err = qemu.Open(context.Background(), infra.Options{Owner: owner, Settings: o}); err == nil {
			req := request("")
			req.InstanceID = instanceID
			_, err = p.CreateInstance(context.Background(), req)
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Killed at any moment, also between a fork and what it was for, and not at those between
// effects alone. The machine must outlive whoever made it, as one that was not killed does.
func TestAProviderThatIsKilledWhileItMakesAMachineLeavesOneOrNone(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	settings, err := json.Marshal(map[string]any{
		"dir": b.config.Dir, "images": b.config.Images, "types": b.config.Types, "stop_grace": b.config.StopGrace.String(),
	})
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	left := map[infra.Status]int{}
	p := b.open(owner)
	for round := range 16 {
		req := request("")
		made := exec.CommandContext(ctx, self, createCommand, string(settings), req.InstanceID)
		if err := made.Start(); err != nil {
			t.Fatal(err)
		}
		// Its whole way takes about as long as the last of these.
		timer := time.AfterFunc(time.Duration(round)*12*time.Millisecond, func() { _ = made.Process.Kill() })
		err := made.Wait()
		timer.Stop()
		inst, statusErr := p.GetInstanceStatus(ctx, req.InstanceID, "")
		switch {
		case infra.IsNotFound(statusErr):
			left["none"]++
		case statusErr != nil:
			t.Fatal(statusErr)
		default:
			left[inst.Status]++
		}
		if err == nil && inst.Status != infra.StatusRunning {
			t.Errorf("a machine that is made is %s", inst.Status)
		}
		if round%2 == 0 {
			if _, err := p.CreateInstance(ctx, req); err != nil {
				t.Fatalf("create after a kill in round %d: %v", round, err)
			}
			b.becomes(ctx, p, req.InstanceID, infra.StatusRunning)
			if n := b.count(req.InstanceID); n != 1 {
				t.Errorf("%d machines after a kill in round %d", n, round)
			}
		}
		b.gone(ctx, p, req.InstanceID)
	}
	t.Logf("after the kill they were %v", left)
}

// The names by which the test's own program is a tool that makes a disk and never comes
// to an end by itself. One goes on whatever becomes of who started it.
const (
	stayingTool = "a-tool-that-stays"
	goingTool   = "a-tool-that-goes"
)

// toolMain begins the disk that it was asked for.
func toolMain(tool, disk string) int {
	if filepath.Base(tool) == stayingTool && unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) != nil {
		return 1
	}
	if os.WriteFile(disk, []byte(strconv.Itoa(os.Getpid())), 0o600) != nil {
		return 1
	}
	<-time.After(time.Minute)
	return 0
}

// killedAtItsDisk kills a provider while a tool makes the disk of a machine.
func (b *bench) killedAtItsDisk(ctx context.Context, tool string) (req infra.CreateInstanceRequest, pid int) {
	b.t.Helper()
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	at := filepath.Join(b.t.TempDir(), tool)
	if err := os.Symlink(self, at); err != nil {
		b.t.Fatal(err)
	}
	settings, err := json.Marshal(map[string]any{
		"dir": b.config.Dir, "images": b.config.Images, "types": b.config.Types, "image_tool": at,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	req = request("")
	made := exec.CommandContext(ctx, self, createCommand, string(settings), req.InstanceID)
	if err := made.Start(); err != nil {
		b.t.Fatal(err)
	}
	for pid == 0 {
		said, _ := os.ReadFile(b.file(req.InstanceID, diskInWork))
		if pid, _ = strconv.Atoi(string(said)); pid == 0 && !hostdirtest.Pause(ctx) {
			b.t.Fatal("the tool does not begin")
		}
	}
	b.t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) })
	_ = made.Process.Kill()
	_ = made.Wait()
	return req, pid
}

const diskInWork = "disk.qcow2.new"

// Two that write one disk destroy it.
func TestWhatStillMakesADiskForAKilledProviderIsWaitedFor(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	req, pid := b.killedAtItsDisk(ctx, stayingTool)
	p := b.open(owner)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := p.CreateInstance(short, req); !infra.PerhapsCreated(err) {
		t.Errorf("a create while another makes the disk: %v", err)
	}
	if said, err := os.ReadFile(b.file(req.InstanceID, diskInWork)); err != nil || string(said) != strconv.Itoa(pid) {
		t.Errorf("the disk that another makes is %q, %v", said, err)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := p.CreateInstance(ctx, req); err != nil {
		t.Fatal(err)
	}
	b.becomes(ctx, p, req.InstanceID, infra.StatusRunning)
	b.gone(ctx, p, req.InstanceID)
}

func TestWhatMakesADiskEndsWithItsProvider(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	req, _ := b.killedAtItsDisk(ctx, goingTool)
	p := b.open(owner)
	if _, err := p.CreateInstance(ctx, req); err != nil {
		t.Fatal(err)
	}
	b.becomes(ctx, p, req.InstanceID, infra.StatusRunning)
}

// A delete leaves nobody who would write into the folder after it.
func TestADeleteEndsWhatStillMakesADiskForAKilledProvider(t *testing.T) {
	b := newBench(t)
	ctx := hostdirtest.Patient(t)
	req, pid := b.killedAtItsDisk(ctx, stayingTool)
	b.gone(ctx, b.open(owner), req.InstanceID)
	for unix.Kill(pid, 0) == nil { // whoever adopts it has to see its end as well
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z ") {
			break
		}
		if !hostdirtest.Pause(ctx) {
			t.Fatal("it is still there")
		}
	}
}
