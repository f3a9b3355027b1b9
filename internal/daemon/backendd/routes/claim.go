package routes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/berth-cloud/berth/internal/store"
)

// Claim keeps the data plane behind a control socket to one backend until it is closed,
// or the process ends: two would take each other's routes away. One that is taken is
// store.ErrLocked.
func Claim(ctx context.Context, control string) (io.Closer, error) {
	path, err := filepath.Abs(control)
	if err != nil {
		return nil, err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil { // else it is not there yet
		path = filepath.Join(dir, filepath.Base(path))
	}
	sum := sha256.Sum256([]byte(path))
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", "@berthd-routes-"+hex.EncodeToString(sum[:16]))
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, fmt.Errorf("%w: another backend has its leases routed by the data plane at %s; give each backend a data plane of its own", store.ErrLocked, control)
	}
	if err != nil {
		return nil, fmt.Errorf("claim the data plane at %s: %w", control, err)
	}
	return l, nil
}
