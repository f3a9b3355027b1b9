package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/berth-cloud/berth/internal/client"
)

const (
	prefix    = "berthbench" // of everything that is made in the engine
	startTime = 20 * time.Second
	stopTime  = 20 * time.Second
	cleanTime = time.Minute
	sweepTime = 3 * time.Minute // when everything is left
)

// berth is a control plane and its data plane, in a directory of their own.
type berth struct {
	dir      string
	http     string // where the data plane listens
	server   *exec.Cmd
	ended    chan struct{} // closed when the server has ended
	ingress  int           // pid
	client   *client.Client
	instance string
}

// startBerth starts a daemon and waits until both its parts serve. The caller
// stops what is returned, also after an error.
func startBerth(ctx context.Context, o options) (*berth, error) {
	b := &berth{ended: make(chan struct{})}
	dir, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return b, err
	}
	b.dir = dir
	if b.http, err = freeAddress(ctx); err != nil {
		return b, err
	}
	socket := filepath.Join(dir, "berth.sock")
	log, err := os.Create(filepath.Join(dir, "berthd.log"))
	if err != nil {
		return b, err
	}
	defer func() { _ = log.Close() }()
	b.server = exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(o.bin, "berthd"), "server",
		"--data-dir", filepath.Join(dir, "data"), "--socket", socket, "--docker", o.docker,
		"--ingress-http", b.http, "--network-prefix", prefix, "--network-pool", o.pool)
	b.server.Stdout, b.server.Stderr = log, log
	b.server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is ours to handle
	if err := b.server.Start(); err != nil {
		b.server = nil
		return b, fmt.Errorf("%w; run make build first", err)
	}
	go func() {
		_ = b.server.Wait() // how it ended is in its ProcessState
		close(b.ended)
	}()
	b.client = client.New(socket)
	return b, b.await(ctx)
}

// freeAddress is a port of loopback that was free a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String(), nil
}

func (b *berth) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		st, err := b.client.Status(ctx)
		if err == nil && len(st.Listeners) > 0 {
			b.instance = st.Instance
			b.ingress = b.ingressPID()
			return nil
		}
		select {
		case <-b.ended:
			return fmt.Errorf("berthd ended at once (%s): %s", b.server.ProcessState, b.logEnd())
		default:
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("berthd does not serve after %s (%w): %s", startTime, err, b.logEnd())
		}
	}
}

func (b *berth) logEnd() string {
	text, err := os.ReadFile(filepath.Join(b.dir, "berthd.log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-2000):])
}

// ingressPID is the data plane of our directory, by the lock that it holds
// there and its command line; 0 when there is none.
func (b *berth) ingressPID() int {
	dir := filepath.Join(b.dir, "data", "ingress")
	text, err := os.ReadFile(filepath.Join(dir, "lock"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || !strings.Contains(string(args), "\x00"+dir+"\x00") {
		return 0
	}
	return pid
}

// stop ends both processes and removes the directory. It has a deadline of its
// own: it runs also when the context of the run is over.
func (b *berth) stop() error {
	if b.dir == "" {
		return nil
	}
	var errs []error
	if b.server != nil {
		errs = append(errs, b.stopServer())
	}
	if b.client != nil {
		b.client.Close()
	}
	if pid := b.ingressPID(); pid != 0 {
		errs = append(errs, stopProcess(pid, func() bool { return b.ingressPID() == 0 }))
	}
	return errors.Join(append(errs, os.RemoveAll(b.dir))...)
}

func (b *berth) stopServer() error {
	_ = b.server.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	select {
	case <-b.ended:
		return nil
	case <-timer.C:
	}
	_ = b.server.Process.Kill()
	<-b.ended
	return errors.New("berthd took no notice of SIGTERM and was killed")
}

// stopProcess ends a process that is not our child.
func stopProcess(pid int, gone func() bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	_ = syscall.Kill(pid, syscall.SIGTERM)
	for !gone() {
		if !pause(ctx, 20*time.Millisecond) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return fmt.Errorf("process %d took no notice of SIGTERM and was killed", pid)
		}
	}
	return nil
}
