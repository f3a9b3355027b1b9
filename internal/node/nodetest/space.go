package nodetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Space is one network namespace, with a loopback that is up. It goes with the test.
type Space struct {
	Name string // "" is the process's own
	file *os.File
}

const (
	namedSpaces    = "/run/netns"
	commandTimeout = 20 * time.Second
)

// Need skips a test where no namespace can be made, and says why.
func Need(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("needs iproute2: %v", err)
	}
}

// NewSpace makes a namespace of that name.
func NewSpace(t testing.TB, name string) *Space {
	t.Helper()
	Need(t)
	if said, err := command("ip", "netns", "add", name); err != nil {
		t.Skipf("no network namespace can be made here: %v: %s", err, said)
	}
	t.Cleanup(func() {
		if said, err := command("ip", "netns", "delete", name); err != nil {
			t.Errorf("remove the namespace %s: %v: %s", name, err, said)
		}
	})
	f, err := os.Open(filepath.Join(namedSpaces, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	s := &Space{Name: name, file: f}
	s.IP(t, "link set lo up")
	// Addresses are there at once, and what the rules do is not done by the kernel.
	for _, set := range []string{"ipv6/conf/default/accept_dad=0", "ipv6/conf/all/accept_dad=0", "ipv4/conf/all/rp_filter=0", "ipv4/conf/default/rp_filter=0"} {
		s.Sysctl(t, set)
	}
	return s
}

// Own is the namespace that the process is in, which is to be one that it does not share.
func Own(t testing.TB) *Space {
	t.Helper()
	Need(t)
	f, err := os.Open("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &Space{file: f}
}

// Listen has somebody in the namespace answer with a name, by TCP and UDP, on the ports of
// a lab.
func (s *Space) Listen(t testing.TB, name string) {
	t.Helper()
	serve(t, s, name)
}

// Dial reports who answered.
func (s *Space) Dial(network, address string) (string, error) { return s.dial(network, address, "") }

// FD is the namespace for netlink.
func (s *Space) FD() int { return int(s.file.Fd()) }

// IP runs commands of ip inside, one a line.
func (s *Space) IP(t testing.TB, lines ...string) {
	t.Helper()
	args := []string{"-batch", "-"}
	if s.Name != "" {
		args = append([]string{"-n", s.Name}, args...)
	}
	cmd, cancel := prepare("ip", args...)
	defer cancel()
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("ip in %s: %v: %s\n%s", s.Name, err, said, strings.Join(lines, "\n"))
	}
}

// Sysctl sets "a/b/c=value" below net.
func (s *Space) Sysctl(t testing.TB, set string) {
	t.Helper()
	name, value, _ := strings.Cut(set, "=")
	var err error
	if fault := s.Do(func() { err = os.WriteFile(filepath.Join("/proc/sys/net", name), []byte(value), 0o644) }); fault != nil {
		err = fault
	}
	if err != nil {
		t.Fatalf("set %s in %s: %v", set, s.Name, err)
	}
}

// Do calls fn on a thread of its own that is inside. What fn starts is outside, a socket
// that it opens stays inside.
func (s *Space) Do(fn func()) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		if err := unix.Setns(s.FD(), unix.CLONE_NEWNET); err != nil {
			done <- err
			return
		}
		fn()
		done <- nil
	}()
	return <-done
}

func prepare(name string, args ...string) (*exec.Cmd, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	return exec.CommandContext(ctx, name, args...), cancel
}

func command(name string, args ...string) (string, error) {
	cmd, cancel := prepare(name, args...)
	defer cancel()
	said, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(said)), err
}
