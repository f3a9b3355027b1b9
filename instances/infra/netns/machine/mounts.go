package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// covered are the folders of the host that a machine has its own of.
var covered = []string{"/run", "/var/lib"}

// clone is a piece of the file system, to be put at its place in the machine.
type clone struct {
	fd int
	to string
}

// furnish gives the process's mount namespace the machine's own view: an empty /run
// and /var/lib with its folders in them, an /etc whose changes are its own, and
// its own processes in /proc. Nothing of it reaches the host.
func furnish(folder string, spec Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts from the host: %w", err)
	}
	// Taken first, as they may be below what is covered.
	clones, err := take(folder, spec)
	defer func() {
		for _, c := range clones {
			_ = unix.Close(c.fd)
		}
	}()
	if err != nil {
		return err
	}
	resolv, _ := os.ReadFile("/etc/resolv.conf") // it often leads into /run
	if err := detach(); err != nil {
		return err
	}
	for _, dir := range covered {
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=64m"); err != nil {
			return fmt.Errorf("cover %s: %w", dir, err)
		}
	}
	if err := ownEtc(resolv); err != nil {
		return err
	}
	for _, c := range clones {
		if err := c.put(); err != nil {
			return err
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

func take(folder string, spec Spec) ([]clone, error) {
	want := [][2]string{
		{filepath.Join(folder, EngineDir), EngineRoot},
		{filepath.Join(folder, BerthDir), BerthRoot},
		{filepath.Join(folder, EtcDir), EtcRoot},
	}
	if len(spec.Agent) > 0 {
		want = append(want, [2]string{spec.Agent[0], agentProgram})
	}
	var clones []clone
	for _, w := range want {
		fd, err := unix.OpenTree(unix.AT_FDCWD, w[0], unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return clones, fmt.Errorf("take %s into the machine: %w", w[0], err)
		}
		clones = append(clones, clone{fd, w[1]})
	}
	return clones, nil
}

func (c clone) put() error {
	var err error
	if c.to == agentProgram {
		if err = os.MkdirAll(runDir, 0o700); err == nil {
			err = os.WriteFile(c.to, nil, 0o600)
		}
	} else {
		err = os.MkdirAll(c.to, 0o700)
	}
	if err == nil {
		err = unix.MoveMount(c.fd, "", unix.AT_FDCWD, c.to, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", c.to, err)
	}
	return nil
}

// detach lets go of what the host has mounted below the covered folders: a machine
// that keeps it would keep the host from removing it.
func detach() error {
	points, err := mountPoints()
	if err != nil {
		return err
	}
	for _, p := range slices.Backward(points) {
		if !slices.ContainsFunc(covered, func(dir string) bool { return strings.HasPrefix(p, dir+"/") }) {
			continue
		}
		err := unix.Unmount(p, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
		// EINVAL and ENOENT: it went with one above it, or by itself.
		if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("let go of %s: %w", p, err)
		}
	}
	return nil
}

// mountPoints are those of this process, in the order in which they were made.
func mountPoints() ([]string, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var points []string
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			points = append(points, Unescape(fields[4]))
		}
	}
	return points, nil
}

// Unescape reads a path as the kernel writes it in its lists of mounts, where
// blanks and the like are \ooo.
func Unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ownEtc lays an empty layer over /etc, so that the machine has an EtcRoot where
// the host has none, and the host's is not seen.
func ownEtc(resolv []byte) error {
	upper, work := runDir+"/etc/upper", runDir+"/etc/work"
	for _, dir := range []string{upper, work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(runDir, 0o700); err != nil {
		return err
	}
	options := "lowerdir=/etc,upperdir=" + upper + ",workdir=" + work
	if err := unix.Mount("overlay", "/etc", "overlay", 0, options); err != nil {
		return fmt.Errorf("lay a layer over /etc: %w", err)
	}
	if len(resolv) == 0 {
		return nil
	}
	if _, err := os.Stat("/etc/resolv.conf"); err == nil {
		return nil
	}
	_ = os.Remove("/etc/resolv.conf")
	return os.WriteFile("/etc/resolv.conf", resolv, 0o644)
}
