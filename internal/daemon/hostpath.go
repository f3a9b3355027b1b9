package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/berth-cloud/berth/internal/docker/engine"
	"github.com/berth-cloud/berth/internal/spec"
)

// deniedPaths are those of ours that no service mounts, whatever the operator
// allows: who holds one of them holds this Berth or the engine.
func (c *Config) deniedPaths() []string {
	denied := []string{c.DataDir, c.Socket}
	if socket, ok := c.engineSocket(); ok {
		denied = append(denied, socket)
	}
	return denied
}

// engineSocket is the engine's Unix socket; false for an engine that is reached
// over the network.
func (c *Config) engineSocket() (string, bool) {
	host := c.DockerHost
	if host == "" {
		host = engine.DefaultHost
	}
	socket, ok := strings.CutPrefix(host, "unix://")
	return socket, ok || strings.HasPrefix(host, "/")
}

// hostPath follows the links of a path of this machine and returns where they
// lead, if that may be mounted too. A service that can write the folder above
// can still put a link there later: allow no folder that another one mounts.
func (c *Config) hostPath(path string) (string, error) {
	if _, local := c.engineSocket(); !local {
		return "", fmt.Errorf("the engine at %s is on another machine, whose paths cannot be looked at from here; use a named volume", c.DockerHost)
	}
	target, err := filepath.EvalSymlinks(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("it does not exist on this machine; create it first")
	case err != nil:
		return "", err
	}
	denied := append(spec.DeniedHostPaths(), c.deniedPaths()...)
	if err := spec.CheckHostPath(target, realPaths(c.AllowHostPaths), realPaths(denied)); err != nil {
		if target != path {
			err = fmt.Errorf("its links lead to %s: %w", target, err)
		}
		return "", err
	}
	return target, nil
}

// realPaths are the paths with their links followed: a link that the operator
// or the system made stands for its target. One that leads nowhere stays.
func realPaths(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = p
		if target, err := filepath.EvalSymlinks(p); err == nil {
			out[i] = target
		}
	}
	return out
}
