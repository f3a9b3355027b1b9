package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

// errNotRunning is a machine that has no first process.
var errNotRunning = errors.New("netns: the machine does not run")

// KillMachine kills a machine at once, as a loss of power does: everything that
// runs in it ends, and it is stopped. It returns once that is so. For tests.
func (p *Provider) KillMachine(ctx context.Context, instanceID string) error {
	h, _, err := p.alive(ctx, instanceID)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Signal(unix.SIGKILL); err != nil {
		return err
	}
	return h.Wait(ctx)
}

// KillEngine kills the engine of a machine, which the machine starts again unless
// Config.LeaveEngineDown says otherwise. Its containers go on. For tests.
func (p *Provider) KillEngine(ctx context.Context, instanceID string) error {
	h, state, err := p.alive(ctx, instanceID)
	if err != nil {
		return err
	}
	defer h.Close()
	if state.Engine.PID == 0 {
		return errors.New("netns: the machine's engine does not run")
	}
	engine, err := inside(h.PID, state.Engine.PID)
	if err != nil {
		return err
	}
	defer engine.Close()
	if err := engine.Signal(unix.SIGKILL); err != nil {
		return err
	}
	return engine.Wait(ctx)
}

// DialEngine connects to the engine of a machine, past its agent. For tests.
func (p *Provider) DialEngine(ctx context.Context, instanceID string) (net.Conn, error) {
	h, _, err := p.alive(ctx, instanceID)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", filepath.Join("/proc", strconv.Itoa(h.PID), "root", machine.EngineSocket))
	if err != nil {
		return nil, err
	}
	if h.Ended() { // and the pid may be another's
		_ = conn.Close()
		return nil, errNotRunning
	}
	return conn, nil
}

// alive finds the first process of a machine that runs.
func (p *Provider) alive(ctx context.Context, instanceID string) (*machine.Handle, machine.State, error) {
	var state machine.State
	f, _, err := p.host.Find(ctx, instanceID)
	if err != nil {
		return nil, state, err
	}
	root, err := os.OpenRoot(f.Path)
	if err != nil {
		return nil, state, err
	}
	defer root.Close()
	process, err := machine.ReadProcess(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, state, errNotRunning
	}
	if err != nil {
		return nil, state, err
	}
	h, err := process.Open()
	if err != nil {
		return nil, state, err
	}
	if h == nil {
		return nil, state, errNotRunning
	}
	if state, err = machine.ReadState(root); err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.Close()
		return nil, state, err
	}
	return h, state, nil
}

// inside finds the process that has a pid in the pid namespace of another one.
func inside(first, pid int) (*machine.Handle, error) {
	want, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid_for_children", first))
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		host, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		ns, err := os.Readlink("/proc/" + e.Name() + "/ns/pid")
		if err != nil || ns != want || innerPID(e.Name()) != pid {
			continue
		}
		process, err := machine.Identify(host)
		if err != nil {
			continue
		}
		h, err := process.Open()
		if err != nil {
			return nil, err
		}
		if h != nil {
			return h, nil
		}
	}
	return nil, fmt.Errorf("netns: the machine has no process %d", pid)
}

// innerPID is the pid of a process in its own namespace, or 0.
func innerPID(host string) int {
	raw, err := os.ReadFile("/proc/" + host + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if pids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(pids)
			if len(fields) == 0 {
				return 0
			}
			pid, _ := strconv.Atoi(fields[len(fields)-1])
			return pid
		}
	}
	return 0
}
