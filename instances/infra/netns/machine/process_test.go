package machine

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sleeper is a process that lives until it is killed or the test ends.
func sleeper(t testing.TB) (p Process, reap func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skipf("no process to look at: %v", err)
	}
	ended := make(chan struct{})
	reap = func() {
		cancel()
		_ = cmd.Wait()
		close(ended)
	}
	t.Cleanup(func() {
		select {
		case <-ended:
		default:
			reap()
		}
	})
	p, err := Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return p, reap
}

func TestAProcessIsKnownUntilItEnds(t *testing.T) {
	p, reap := sleeper(t)
	h, err := p.Open()
	if err != nil || h == nil || h.Ended() {
		t.Fatalf("a process that lives: %v, %v", h, err)
	}
	defer h.Close()
	late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := h.Wait(late); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for one that lives: %v", err)
	}
	if err := h.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := h.Wait(t.Context()); err != nil || !h.Ended() {
		t.Errorf("waiting for one that was killed: %v", err)
	}
	// Not reaped yet: it has ended all the same.
	if again, err := p.Open(); err != nil || again != nil {
		t.Errorf("a process that has ended: %v, %v", again, err)
	}
	reap()
	if again, err := p.Open(); err != nil || again != nil {
		t.Errorf("a process that is gone: %v, %v", again, err)
	}
	if err := h.Signal(unix.SIGTERM); err != nil {
		t.Errorf("a signal to a process that is gone: %v", err)
	}
}

// A pid is given again. Whoever has it now is not ours.
func TestAPidAloneIsNobody(t *testing.T) {
	p, _ := sleeper(t)
	for what, change := range map[string]func(*Process){
		"an earlier start": func(p *Process) { p.Start-- },
		"another boot":     func(p *Process) { p.Boot = "00000000-0000-0000-0000-000000000000" },
	} {
		other := p
		change(&other)
		if h, err := other.Open(); err != nil || h != nil {
			t.Errorf("with %s it is taken for ours: %v, %v", what, h, err)
		}
	}
	for _, pid := range []int{0, -1} {
		if h, err := (Process{PID: pid}).Open(); err == nil || h != nil {
			t.Errorf("pid %d is a process: %v, %v", pid, h, err)
		}
	}
}

func TestAFileOfAFolderIsReplacedWholly(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var got State
	if err := ReadJSON(root, StateFile, &got); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for _, want := range []State{{Phase: Running, Engine: Part{PID: 7, Starts: 1, Answers: true}}, {Phase: Failed, Error: "so"}} {
		if err := WriteJSON(root, StateFile, want); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadState(root); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	if err := root.WriteFile(StateFile, bytes.Repeat([]byte(" "), maxJSON+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadState(root); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file without end: %v", err)
	}
}

func TestPathsOfMountsAreReadAsTheKernelWritesThem(t *testing.T) {
	for in, want := range map[string]string{`/a`: "/a", `/a\040b`: "/a b", `/a\134040`: `/a\040`, `/a\`: `/a\`, `/a\999`: `/a\999`, `/\011x`: "/\tx"} {
		if got := Unescape(in); got != want {
			t.Errorf("%q is %q, not %q", in, got, want)
		}
	}
}

func TestTheCommandIsForTheProviderAlone(t *testing.T) {
	for _, args := range [][]string{nil, {"launch"}, {"dance", "/"}, {"init", "/", "more"}} {
		var said strings.Builder
		if code := Main(args, &said); code != 2 || !strings.Contains(said.String(), "usage") {
			t.Errorf("%v: %d, %q", args, code, said.String())
		}
	}
}
