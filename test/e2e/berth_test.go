package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/docker/dockertest/testimage"
	"github.com/berth-cloud/berth/internal/ingress/controlclient"
)

const (
	startTimeout = 30 * time.Second
	stopTimeout  = 20 * time.Second
)

// berth is one Berth under test: its programs, and the engine it drives.
type berth struct {
	t        *testing.T
	bin      string
	dir      string // its data and sockets
	tag      string // ends the names of its apps: the engine is shared
	prefix   string // of networks and volumes
	pool     netip.Prefix
	docker   string   // address of the engine as berthd is told
	listen   string   // what the data plane is told to serve on
	flags    []string // more of berthd's
	addr     string   // where it serves
	instance string
	api      *client.Client
	engine   *engine
	log      *lockedBuffer
	server   *exec.Cmd
	ended    chan error
	unload   func() []string // ends the traffic of a story
}

// settings change how a Berth under test is started.
type settings func(*berth)

func onDocker(address string) settings { return func(b *berth) { b.docker = address } }
func listenOn(address string) settings { return func(b *berth) { b.listen = address } }

// start runs a new Berth until the test ends, and waits until its data plane
// serves.
func start(t *testing.T, change ...settings) *berth {
	t.Helper()
	b := prepare(t, change...)
	b.startServer()
	b.awaitPlane()
	return b
}

// prepare is a Berth that does not run yet.
func prepare(t *testing.T, change ...settings) *berth {
	t.Helper()
	socket := testimage.Socket(t)
	bin := programs(t)
	dir, err := os.MkdirTemp("", "berth-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	n := number.Add(1) - 1
	tag := fmt.Sprintf("e%x-%x", os.Getpid(), n)
	b := &berth{
		t: t, bin: bin, dir: dir, listen: "127.0.0.1:0", docker: "unix://" + socket,
		tag: tag, prefix: "berth-" + tag, pool: poolFor(n), engine: dial(t, socket), log: &lockedBuffer{},
	}
	for _, c := range change {
		c(b)
	}
	b.api = client.New(b.socket())
	t.Cleanup(b.clean)
	return b
}

var number atomic.Int64

// poolFor gives each Berth of this process a /20 of its own. Processes that
// meet in one pool do no harm: a subnet in use is passed over.
func poolFor(n int64) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(240 + os.Getpid()%10), byte(n % 16 * 16), 0}), 20)
}

// app makes a name for an app that no other test run uses.
func (b *berth) app(name string) string { return name + "-" + b.tag }

func (b *berth) socket() string     { return filepath.Join(b.dir, "berth.sock") }
func (b *berth) dataDir() string    { return filepath.Join(b.dir, "data") }
func (b *berth) ingressDir() string { return filepath.Join(b.dataDir(), "ingress") }

// serverCmd is the command line of the control plane.
func (b *berth) serverCmd(ctx context.Context) *exec.Cmd {
	flags := []string{"server", "--data-dir", b.dataDir(), "--socket", b.socket(), "--docker", b.docker,
		"--ingress-http", b.listen, "--network-prefix", b.prefix, "--network-pool", b.pool.String()}
	return exec.CommandContext(ctx, filepath.Join(b.bin, "berthd"), append(flags, b.flags...)...)
}

// startServer starts the control plane and waits until its API answers.
func (b *berth) startServer() {
	b.t.Helper()
	cmd := b.serverCmd(context.Background()) // ended by stopServer
	cmd.Stdout, cmd.Stderr = b.log, b.log
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.server, b.ended = cmd, make(chan error, 1)
	go func() { b.ended <- cmd.Wait() }()
	b.eventually(startTimeout, "the API answers", func(ctx context.Context) error {
		select {
		case err := <-b.ended:
			b.ended <- err
			b.t.Fatalf("berthd ended: %v\n%s", err, b.log)
		default:
		}
		s, err := b.api.Status(ctx)
		b.instance = s.Instance
		return err
	})
}

// awaitPlane waits until the data plane serves, and notes where.
func (b *berth) awaitPlane() {
	b.t.Helper()
	b.eventually(startTimeout, "the data plane serves", func(ctx context.Context) error {
		s, err := b.api.Status(ctx)
		if err == nil && len(s.Listeners) != 1 {
			err = fmt.Errorf("it serves on %q", s.Listeners)
		}
		if err == nil {
			b.addr = strings.TrimPrefix(s.Listeners[0], "http://")
		}
		return err
	})
}

func (b *berth) signalServer(s os.Signal) {
	b.t.Helper()
	if b.server == nil {
		return
	}
	if err := b.server.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		b.t.Errorf("signal berthd: %v", err)
	}
	select {
	case <-b.ended:
	case <-time.After(stopTimeout):
		b.t.Errorf("berthd did not end within %s after %v", stopTimeout, s)
		_ = b.server.Process.Kill()
		<-b.ended
	}
	b.server = nil
}

// stopPlane ends the data plane, which outlives its control plane.
func (b *berth) stopPlane() {
	socket := filepath.Join(b.ingressDir(), "control.sock")
	if _, err := os.Stat(socket); err != nil {
		return
	}
	plane := controlclient.New(socket)
	defer plane.Close()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	hello, err := plane.Hello(ctx)
	if err != nil || hello.PID <= 1 {
		return // it has ended, or never began
	}
	if err := syscall.Kill(hello.PID, syscall.SIGTERM); err != nil {
		b.t.Errorf("end the data plane: %v", err)
	}
	b.eventually(stopTimeout, "the data plane ends", func(ctx context.Context) error {
		if _, err := plane.Hello(ctx); err == nil {
			return errors.New("it still answers")
		}
		return nil
	})
}

// clean ends the programs and removes all that this Berth made.
func (b *berth) clean() {
	b.signalServer(syscall.SIGTERM)
	b.stopPlane()
	b.api.Close()
	b.engine.removeAll(b.instance)
	if b.t.Failed() {
		b.t.Logf("log of berthd:\n%s", b.log)
	}
	if err := os.RemoveAll(b.dir); err != nil {
		b.t.Error(err)
	}
}

// eventually repeats check until it returns nil. The test fails when it has
// not by then.
func (b *berth) eventually(within time.Duration, what string, check func(ctx context.Context) error) {
	b.t.Helper()
	eventually(b.t, within, what, check)
}

func eventually(t *testing.T, within time.Duration, what string, check func(ctx context.Context) error) {
	t.Helper()
	if err := comes(within, what, check); err != nil {
		t.Fatal(err)
	}
}

// comes repeats check until it returns nil, and says what it has not seen by then.
func comes(within time.Duration, what string, check func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %s: %w", within, what, err)
		}
	}
}

// lockedBuffer takes the output of a process that goes on.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// in is the same Berth for a subtest.
func (b *berth) in(t *testing.T) *berth {
	sub := *b
	e := *b.engine
	e.t = t
	sub.t, sub.engine = t, &e
	return &sub
}
