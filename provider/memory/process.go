package memory

import (
	"context"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"sync"

	"github.com/berth-cloud/berth/provider"
)

// Process is what a Program has of the container that it runs in. Its methods may be
// called from many goroutines.
type Process struct {
	container *container
	process   *process // of the container, also for a command that Exec runs
	args      []string
	env       map[string]string
	user, dir string
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	terminal  *terminal
}

// Args are the arguments behind the name of the program.
func (p *Process) Args() []string { return p.args }

// LookupEnv reads a variable.
func (p *Process) LookupEnv(name string) (string, bool) {
	value, ok := p.env[name]
	return value, ok
}

// Stdin is empty for the container's own process.
func (p *Process) Stdin() io.Reader { return p.stdin }

// Stdout is the container's log, or the output of a command.
func (p *Process) Stdout() io.Writer { return p.stdout }

// Stderr is the other stream of it.
func (p *Process) Stderr() io.Writer { return p.stderr }

// Label reads a label of the container.
func (p *Process) Label(key string) (string, bool) {
	value, ok := p.container.labels[key]
	return value, ok
}

// Hostname is the id of the container.
func (p *Process) Hostname() string { return p.container.id }

// User is "uid:gid", "0:0" when nobody said anything.
func (p *Process) User() string {
	if p.user == "" {
		return "0:0"
	}
	return p.user
}

// WorkingDir is "/" when nobody said anything.
func (p *Process) WorkingDir() string {
	if p.dir == "" {
		return "/"
	}
	return p.dir
}

// Terminal is the size of the terminal, false without one.
func (p *Process) Terminal() (cols, rows int, ok bool) {
	if p.terminal == nil {
		return 0, 0, false
	}
	size := p.terminal.now()
	return int(size.Cols), int(size.Rows), true
}

// ReadFile reads a file of the container or of a volume.
func (p *Process) ReadFile(path string) ([]byte, error) {
	set, clean, _ := p.container.find(path)
	f, err := set.read(clean)
	return f.data, err
}

// WriteFile makes or replaces a file.
func (p *Process) WriteFile(path string, data []byte) error {
	return p.container.writeFile(path, data, false)
}

// CreateFile makes a file, or fails with fs.ErrExist.
func (p *Process) CreateFile(path string, data []byte) error {
	return p.container.writeFile(path, data, true)
}

// Remove removes a file.
func (p *Process) Remove(path string) error {
	set, clean, writable := p.container.find(path)
	if !writable {
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrPermission}
	}
	return set.remove(clean)
}

// Mode is the mode of a file.
func (p *Process) Mode(path string) (fs.FileMode, error) {
	set, clean, _ := p.container.find(path)
	f, err := set.read(clean)
	return f.mode, err
}

// Listen opens a port, which is closed when the container ends.
func (p *Process) Listen(port int) (net.Listener, error) {
	if err := p.process.ctx.Err(); err != nil {
		return nil, err
	}
	return p.container.cluster.listen(netip.AddrPortFrom(p.container.address, uint16(port)))
}

// Dial connects to "host:port", by the name of a member or a workload, or by
// address.
func (p *Process) Dial(ctx context.Context, address string) (net.Conn, error) {
	return p.container.cluster.dialFrom(ctx, p.container, address)
}

// Stopped is closed when the container is told to end.
func (p *Process) Stopped() <-chan struct{} { return p.process.stop }

// IgnoreStop makes that have no effect.
func (p *Process) IgnoreStop() {
	p.container.cluster.mu.Lock()
	defer p.container.cluster.mu.Unlock()
	p.process.ignored = true
}

// TakeMemory counts as used memory until the container ends, and ends it when it is
// above the limit.
func (p *Process) TakeMemory(mib int) {
	o := p.container
	o.cluster.mu.Lock()
	defer o.cluster.mu.Unlock()
	p.process.taken += mib
	if limit := o.spec.Resources.MemoryMB; limit > 0 && p.process.taken+idleMemory > limit && o.process == p.process {
		o.killLocked(exitKilled, true)
	}
}

// Burn counts as a busy CPU until ctx or the container ends.
func (p *Process) Burn(ctx context.Context) {
	p.burn(1)
	defer p.burn(-1)
	select {
	case <-ctx.Done():
	case <-p.process.ctx.Done():
	}
}

func (p *Process) burn(n int) {
	p.container.cluster.mu.Lock()
	defer p.container.cluster.mu.Unlock()
	p.process.burning += n
}

// ports are those of the service.
func (p *Process) ports() []int {
	var out []int
	for _, port := range p.container.spec.Ports {
		if port.Transport() == provider.ProtocolTCP {
			out = append(out, port.Container)
		}
	}
	return out
}

// flush ends lines that were begun.
func (p *Process) flush() {
	for _, w := range []io.Writer{p.stdout, p.stderr} {
		if l, ok := w.(*lineWriter); ok {
			l.flush()
		}
	}
}

type noInput struct{}

func (noInput) Read([]byte) (int, error) { return 0, io.EOF }

// terminal is the size of one.
type terminal struct {
	mu   sync.Mutex
	size provider.TerminalSize
}

func (t *terminal) now() provider.TerminalSize {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size
}

func (t *terminal) set(size provider.TerminalSize) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.size = size
}
