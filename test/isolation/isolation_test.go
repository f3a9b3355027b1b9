package isolation

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/node/nodetest"
)

// inside is set in the process that is in the namespaces, to a folder.
const inside = "BERTH_ISOLATION_INSIDE"

const patience = 4 * time.Minute

func TestALeaseReachesOnRealDockerWhatItMayAndNothingElse(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a Docker engine, and this is a short run")
	}
	nodetest.Need(t)
	for _, program := range []string{"dockerd", "containerd", "iptables"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: %v", program, err)
		}
	}
	dir := os.Getenv(inside)
	if dir == "" {
		again(t)
		return
	}
	apart(t)
	tries(t, dir)
}

// apart gives the process places of its own for what an engine keeps outside its folder.
func apart(t *testing.T) {
	t.Helper()
	for _, m := range []struct {
		on, kind string
		flags    uintptr
	}{{"/", "", syscall.MS_REC | syscall.MS_PRIVATE}, {"/proc", "proc", 0}, {"/run", "tmpfs", 0}} {
		if err := syscall.Mount(m.kind, m.on, m.kind, m.flags, ""); err != nil {
			t.Skipf("no mount of its own can be made here, %s: %v", m.on, err)
		}
	}
}

// again runs the test in namespaces that go with it, and all that it started with them.
func again(t *testing.T) {
	dir, err := os.MkdirTemp("", "berth-iso-") // sockets below it have long names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("something is left behind: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout="+patience.String())
	cmd.Env = append(os.Environ(), inside+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	said, err := cmd.CombinedOutput()
	t.Logf("%s", said)
	if err != nil {
		t.Fatal(err)
	}
	if at := bytes.Index(said, []byte("--- SKIP")); at >= 0 {
		t.Skip("it was skipped inside; the reason is above")
	}
}
