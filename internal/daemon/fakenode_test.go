package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/internal/ingress/table"
)

// This test program stands in for berth-node when these are set.
const (
	fakeMode  = "BERTH_FAKE_NODE"       // "serves" or "fails"
	fakeBuild = "BERTH_FAKE_NODE_BUILD" // what it says its build is
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeMode); mode != "" && len(os.Args) > 1 {
		os.Exit(fakeNode(mode, os.Args[1:]))
	}
	if place := os.Getenv(placeOfChild); place != "" {
		os.Exit(beNeighbour(place))
	}
	goleak.VerifyTestMain(m)
}

// fakeNode writes what it was started with to a file in its directory, the
// way the real one opens a socket there, and stays until it is told to end.
func fakeNode(mode string, args []string) int {
	build := os.Getenv(fakeBuild)
	if args[0] == "version" {
		fmt.Println("berth-node " + build)
		return 0
	}
	if mode == "fails" {
		fmt.Fprintln(os.Stderr, "listen on :80: address already in use")
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	dir := args[slices.Index(args, "--dir")+1]
	line := fmt.Sprintf("%d %s %s", os.Getpid(), build, strings.Join(args, " "))
	// Renamed into place, so that nobody reads half of it.
	part := filepath.Join(dir, fmt.Sprint("part.", os.Getpid()))
	if os.WriteFile(part, []byte(line), 0o600) != nil || os.Rename(part, filepath.Join(dir, "up")) != nil {
		return 1
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // should nobody end it
	defer cancel()
	<-ctx.Done()
	return 0
}

// node is a supervisor with the test program as its data plane.
type node struct {
	*supervisor
	t     *testing.T
	lost  chan struct{}
	refer error // what hello answers instead, if set
}

func newNode(t *testing.T, mode, build string) *node {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeMode, mode)
	t.Setenv(fakeBuild, build)
	t.Setenv("GORACE", "atexit_sleep_ms=0") // else it takes a second to end
	n := &node{t: t, lost: make(chan struct{}, 1)}
	n.supervisor = &supervisor{
		cfg:    &Config{DataDir: t.TempDir(), NodeBinary: self, IngressHTTP: []string{":80", "127.0.0.1:8080"}},
		hello:  n.answer,
		logger: slog.New(slog.DiscardHandler),
	}
	return n
}

// answer is the greeting of the process that wrote the file last, if it lives.
func (n *node) answer(context.Context) (table.Hello, error) {
	if n.refer != nil {
		return table.Hello{}, n.refer
	}
	text, err := os.ReadFile(filepath.Join(n.cfg.ingressDir(), "up"))
	if err != nil {
		return table.Hello{}, err
	}
	var h table.Hello
	if _, err := fmt.Sscanf(string(text), "%d %s", &h.PID, &h.Build); err != nil {
		return table.Hello{}, err
	}
	if !alive(h.PID) {
		return table.Hello{}, errors.New("it does not answer")
	}
	return h, nil
}

// startedWith are the arguments of the process that came up last.
func (n *node) startedWith() string {
	text, _ := os.ReadFile(filepath.Join(n.cfg.ingressDir(), "up"))
	return string(text)
}

// supervise runs the supervisor until the function it returns is called.
func (n *node) supervise() (end func()) {
	ctx, cancel := context.WithCancel(n.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		n.run(ctx, n.lost)
	}()
	return func() {
		cancel()
		<-done
	}
}

// await waits until the supervisor's state is as wanted, and sees to it that a
// process it shows ends with the test.
func (n *node) await(what string, wanted func(h table.Hello, trouble string) bool) table.Hello {
	n.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(20 * time.Second)
	for {
		h, trouble := n.state()
		if wanted(h, trouble) {
			if h.PID != 0 {
				n.t.Cleanup(func() { n.end(h.PID) })
			}
			return h
		}
		select {
		case <-look.C:
		case <-deadline:
			n.t.Fatalf("waited for %s; the state is %+v, %q", what, h, trouble)
		}
	}
}

// end ends a data plane and waits until it is reaped.
func (n *node) end(pid int) {
	_ = syscall.Kill(pid, syscall.SIGTERM)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for deadline := time.After(10 * time.Second); alive(pid); {
		select {
		case <-look.C:
		case <-deadline:
			n.t.Errorf("process %d does not end", pid)
			return
		}
	}
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }
