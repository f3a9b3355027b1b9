package netns_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

// agentPort is in the machine's own network.
const agentPort = "7777"

// agentMain writes down what it was called with, and tells whoever connects whether
// it reaches the addresses that it is sent, one a line.
func agentMain(args []string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	host, err := os.Hostname()
	if err != nil {
		return 1
	}
	said := host + " " + strings.Join(args, " ") + "\n"
	f, err := os.OpenFile(filepath.Join(machine.BerthRoot, "called"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	_, _ = f.WriteString(said)
	_ = f.Close()
	l, err := net.Listen("tcp4", ":"+agentPort)
	if err != nil {
		return 1
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go reach(conn)
		}
	}()
	<-stop
	return 0
}

func reach(conn net.Conn) {
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		answer := "no\n"
		if c, err := net.DialTimeout("tcp4", lines.Text(), 500*time.Millisecond); err == nil {
			answer = "yes\n"
			_ = c.Close()
		}
		_, _ = io.WriteString(conn, answer)
	}
}

// engineMain is an engine that only answers.
func engineMain() int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	_ = os.Remove(machine.EngineSocket)
	l, err := net.Listen("unix", machine.EngineSocket)
	if err != nil {
		return 1
	}
	s := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/containers/json" {
			_, _ = io.WriteString(w, "[]")
		}
	})}
	go func() { _ = s.Serve(l) }()
	<-stop
	_ = s.Close()
	return 0
}

// launcherThatIsKilled does what the launcher does, up to before it records the
// machine's process, or up to before it lets it go on.
func launcherThatIsKilled(folder string, recorded bool) int {
	self, err := os.Executable()
	if err != nil {
		return 3
	}
	wait, release, err := os.Pipe()
	if err != nil {
		return 3
	}
	cmd := exec.CommandContext(context.Background(), self, initCommand, "init", folder)
	cmd.ExtraFiles = []*os.File{os.NewFile(3, "lock"), wait}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID}
	if err := cmd.Start(); err != nil {
		return 3
	}
	if recorded {
		root, err := os.OpenRoot(folder)
		if err != nil {
			return 3
		}
		p, err := machine.Identify(cmd.Process.Pid)
		if err != nil || machine.WriteJSON(root, machine.ProcessFile, p) != nil {
			return 3
		}
	}
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	_ = release
	return 3
}
