package isolation

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/berth-cloud/berth/internal/docker/engine"
)

const startTime = 60 * time.Second

// dockerd is an engine of the test's own, whose containers survive it.
type dockerd struct {
	t      *testing.T
	dir    string
	socket string
	cmd    *exec.Cmd
	ended  chan error
}

func startDockerd(t *testing.T, dir string) *dockerd {
	t.Helper()
	d := &dockerd{t: t, dir: dir, socket: filepath.Join(dir, "d.sock")}
	t.Cleanup(d.stop)
	if err := os.WriteFile(filepath.Join(dir, "daemon.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.start()
	return d
}

func (d *dockerd) start() {
	d.t.Helper()
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()
	// It ends by a signal, after its containers; the context is for when that fails.
	d.cmd = exec.CommandContext(context.Background(), "dockerd", "--config-file", filepath.Join(d.dir, "daemon.json"), "--data-root", filepath.Join(d.dir, "root"), "--exec-root", filepath.Join(d.dir, "exec"),
		"--pidfile", filepath.Join(d.dir, "pid"), "-H", "unix://"+d.socket, "--bridge=none", "--live-restore", "--log-level=warn")
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	d.ended = make(chan error, 1)
	go func(cmd *exec.Cmd, ended chan<- error) { ended <- cmd.Wait() }(d.cmd, d.ended)
	client, err := engine.New(engine.Options{Host: "unix://" + d.socket})
	if err != nil {
		d.t.Fatal(err)
	}
	defer client.Close()
	d.until("the engine answers", func() bool {
		_, err := client.Info(context.Background())
		return err == nil
	})
}

func (d *dockerd) stop() {
	if d.cmd == nil {
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.ended:
	case <-time.After(startTime):
		_ = d.cmd.Process.Kill()
		<-d.ended
	}
	d.cmd = nil
}

func (d *dockerd) until(what string, cond func() bool) {
	d.t.Helper()
	deadline := time.NewTimer(startTime)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case err := <-d.ended:
			log, _ := os.ReadFile(filepath.Join(d.dir, "log"))
			d.t.Skipf("no engine can be started in a namespace here: %v\n%s", err, log[max(0, len(log)-2000):])
		case <-tick.C:
		case <-deadline.C:
			log, _ := os.ReadFile(filepath.Join(d.dir, "log"))
			d.t.Fatalf("it never came that %s\n%s", what, log[max(0, len(log)-2000):])
		}
	}
}
