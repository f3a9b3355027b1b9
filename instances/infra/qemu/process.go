package qemu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// kill ends every process that holds the machine's life. The folder is locked, so that
// none of them is a provider that starts a machine. Each is held by a handle before it
// is looked at for the last time: a pid that is another's by then is not reached.
func kill(root *os.Root) error {
	life, err := root.Stat(lifeFile)
	if err != nil {
		return err
	}
	found, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	killed := 0
	for _, dir := range found {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() || !holds(pid, life) {
			continue
		}
		if err := killIf(pid, func() bool { return holds(pid, life) }); err != nil {
			return err
		}
		killed++
	}
	if killed > 0 {
		return nil
	}
	if there, err := lives(root); err != nil || !there {
		return err
	}
	return errors.New("the machine's process is there and was not found")
}

// holds reports whether a process has a file open by which it is locked. Others have
// it open for a moment, to look whether it is.
func holds(pid int, file os.FileInfo) bool {
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		return false
	}
	for _, name := range open {
		if at, err := os.Stat(name); err != nil || !os.SameFile(at, file) {
			continue
		}
		info, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%s", pid, filepath.Base(name)))
		if err == nil && strings.Contains(string(info), "\nlock:") {
			return true
		}
	}
	return false
}

func killIf(pid int, still func() bool) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	if !still() {
		return nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	return nil
}
