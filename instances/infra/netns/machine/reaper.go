package machine

import (
	"errors"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"
)

// reaper starts processes and takes in every one that ends, its own and those
// that lost their parent. Nothing else may wait for a process.
type reaper struct {
	mu   sync.Mutex
	mine map[int]chan unix.WaitStatus
}

func newReaper() *reaper { return &reaper{mine: map[int]chan unix.WaitStatus{}} }

// start starts cmd, whose streams must be files. The channel gets how it ended.
func (r *reaper) start(cmd *exec.Cmd) (pid int, ended <-chan unix.WaitStatus, err error) {
	r.mu.Lock() // it cannot be reaped before it is known
	defer r.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	pid = cmd.Process.Pid
	_ = cmd.Process.Release()
	c := make(chan unix.WaitStatus, 1)
	r.mine[pid] = c
	return pid, c, nil
}

// signal reaches a process that start made and that has not been taken in.
func (r *reaper) signal(pid int, s unix.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.mine[pid]; ok {
		_ = unix.Kill(pid, s)
	}
}

// reap takes in all that have ended by now.
func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if c, ok := r.mine[pid]; ok {
			delete(r.mine, pid)
			c <- ws
		}
	}
}
