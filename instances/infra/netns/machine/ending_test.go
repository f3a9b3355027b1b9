package machine

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// headless is set for a child that ends its first thread and goes on with the others until
// its input ends.
const headless = "BERTH_TEST_HEADLESS"

func init() {
	if os.Getenv(headless) == "" {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	// Initialization runs on the first thread.
	_, _, _ = unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
}

// A process that is killed ends thread by thread. Until the last one has ended there may
// be something left of it, and whoever removes a machine waits, and does not fail.
func TestAProcessThatIsEndingIsWaitedFor(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), headless+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer in.Close()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var p Process
	for dead := false; !dead; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("its first thread does not end")
		}
		if p, dead, err = identify(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
	h, err := p.Open()
	if err != nil || h == nil {
		t.Fatalf("a process that is ending: %v, %v", h, err)
	}
	defer h.Close()
	if h.Ended() {
		t.Error("it has ended before its last thread")
	}
	if err := h.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(ctx); err != nil {
		t.Error(err)
	}
	if again, err := p.Open(); err != nil || again != nil {
		t.Errorf("it has ended: %v, %v", again, err)
	}
}
