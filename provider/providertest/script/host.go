package script

import (
	"context"
	"io"
	"io/fs"
	"net"
)

// Host is what a script touches of the container that it runs in.
type Host interface {
	Args() []string
	LookupEnv(name string) (string, bool)
	Stdin() io.Reader
	Stdout() io.Writer
	Stderr() io.Writer

	Hostname() string
	// User is "uid:gid".
	User() string
	WorkingDir() string
	// Terminal is the size of the terminal, false without one.
	Terminal() (cols, rows int, ok bool)

	ReadFile(path string) ([]byte, error)
	// WriteFile makes or replaces a file, with mode 0644 when it is new.
	WriteFile(path string, data []byte) error
	// CreateFile fails with fs.ErrExist when there is one.
	CreateFile(path string, data []byte) error
	Remove(path string) error
	Mode(path string) (fs.FileMode, error)

	Listen(port int) (net.Listener, error)
	// Dial connects to "host:port".
	Dial(ctx context.Context, address string) (net.Conn, error)

	// Stopped is closed when the container is told to end.
	Stopped() <-chan struct{}
	// IgnoreStop makes the container outlive that.
	IgnoreStop()

	// TakeMemory holds and touches so many MiB until the end.
	TakeMemory(mib int)
	// Burn keeps a CPU busy until ctx ends.
	Burn(ctx context.Context)
}
