// Command program is package script in a real container. It is built static
// (CGO_ENABLED=0) and put into an image FROM scratch with
//
//	ENTRYPOINT ["/program"]
//	CMD ["listen:8080", "wait"]
//
// and a variable VERSION, which tells two images apart.
package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"golang.org/x/term"

	"github.com/berth-cloud/berth/provider/providertest/script"
)

func main() {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT)
	code := script.Run(context.Background(), container{stop: stop})
	cancel()
	os.Exit(code)
}

// container is the one that this process runs in.
type container struct{ stop context.Context }

var _ script.Host = container{}

func (container) Args() []string                       { return os.Args[1:] }
func (container) LookupEnv(name string) (string, bool) { return os.LookupEnv(name) }
func (container) Stdin() io.Reader                     { return os.Stdin }
func (container) Stdout() io.Writer                    { return os.Stdout }
func (container) Stderr() io.Writer                    { return os.Stderr }

func (container) Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

func (container) User() string { return fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()) }

func (container) WorkingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return err.Error()
	}
	return dir
}

func (container) Terminal() (cols, rows int, ok bool) {
	cols, rows, err := term.GetSize(int(os.Stdin.Fd()))
	return cols, rows, err == nil
}

func (container) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }

func (container) WriteFile(path string, data []byte) error { return os.WriteFile(path, data, 0o644) }

func (container) CreateFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (container) Remove(path string) error { return os.Remove(path) }

func (container) Mode(path string) (fs.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

func (container) Listen(port int) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(context.Background(), "tcp", net.JoinHostPort("", strconv.Itoa(port)))
}

func (container) Dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", address)
}

func (c container) Stopped() <-chan struct{} { return c.stop.Done() }

func (container) IgnoreStop() { signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT) }

// taken keeps the memory reachable.
var taken [][]byte

func (container) TakeMemory(mib int) {
	for range mib {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 512 {
			block[i] = 1
		}
		taken = append(taken, block)
	}
}

func (container) Burn(ctx context.Context) {
	for ctx.Err() == nil {
		for range 1 << 16 {
		}
	}
}
