package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Process is one process of this boot, and no other that has its pid later.
type Process struct {
	PID int
	// Start is when it started, in the kernel's ticks since the boot.
	Start uint64
	// Boot is the boot's id.
	Boot string
}

// poll is how long one look at a process waits, so that a context is heard.
const poll = 20 * time.Millisecond

// Identify finds out which process has a pid now.
func Identify(pid int) (Process, error) {
	p, dead, err := identify(pid)
	if err == nil && dead {
		return Process{}, fmt.Errorf("process %d has ended", pid)
	}
	return p, err
}

// identify is Identify for one that is not reaped as well. dead says that its first thread
// has ended, which in a process that is killed may be before the others.
func identify(pid int) (p Process, dead bool, err error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Process{}, false, err
	}
	start, dead, err := stat(pid)
	if err != nil {
		return Process{}, false, err
	}
	return Process{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, dead, nil
}

// ReadProcess reads who the machine in a folder is; a missing file is fs.ErrNotExist.
func ReadProcess(folder *os.Root) (Process, error) {
	var p Process
	err := ReadJSON(folder, ProcessFile, &p)
	return p, err
}

// stat is the start time of a process, and whether it has ended and is not reaped.
func stat(pid int) (start uint64, dead bool, err error) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false, err
	}
	// The name in brackets may hold anything; state is the first field after it,
	// the start time the 20th.
	_, rest, ok := cutLast(string(raw), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return 0, false, fmt.Errorf("process %d has no status that can be read", pid)
	}
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return start, fields[0] == "Z" || fields[0] == "X", err
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// Handle holds a process that lives, or lived when it was opened. What it does
// reaches this process or none.
type Handle struct {
	fd  int
	PID int
}

// Open returns the process's handle, or nil when it has ended. An error says
// neither. All that ran in the machine has ended when its first process has.
func (p Process) Open() (*Handle, error) {
	if p.PID <= 0 {
		return nil, errors.New("no process is recorded")
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", p.PID, err)
	}
	// The handle is some process's; it is p's if p is there after it was taken.
	now, dead, err := identify(p.PID)
	h := &Handle{fd: fd, PID: p.PID}
	switch {
	case err == nil && now == p && !(dead && h.Ended()):
		// Of one whose first thread alone has ended, the end is still to be waited for.
		return h, nil
	case err == nil, h.Ended(), errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ESRCH):
		h.Close()
		return nil, nil
	}
	h.Close()
	return nil, err
}

// Close lets the handle go.
func (h *Handle) Close() { _ = unix.Close(h.fd) }

// Signal sends a signal; to a process that has ended it does nothing.
func (h *Handle) Signal(s unix.Signal) error {
	err := unix.PidfdSendSignal(h.fd, s, nil, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// Ended reports whether the process is no more.
func (h *Handle) Ended() bool { return h.look(0) }

func (h *Handle) look(wait time.Duration) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}, int(wait.Milliseconds()))
	return err == nil && n > 0
}

// Wait returns nil once the process has ended, or ctx's error.
func (h *Handle) Wait(ctx context.Context) error {
	for !h.look(poll) {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
