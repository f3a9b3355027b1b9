package engine

import (
	"context"

	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

// Info implements docker.Runtime.
func (c *Client) Info(ctx context.Context) (docker.EngineInfo, error) {
	const what = "ask the engine about itself"
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if err := c.negotiate(ctx); err != nil {
		return docker.EngineInfo{}, c.fail(what, err)
	}
	res, err := c.cli.Info(ctx, client.InfoOptions{})
	if err != nil {
		return docker.EngineInfo{}, c.fail(what, err)
	}
	return docker.EngineInfo{
		ID:           res.Info.ID,
		Version:      res.Info.ServerVersion,
		APIVersion:   c.cli.ClientVersion(),
		Architecture: imageArchitecture(res.Info.Architecture),
		OS:           res.Info.OSType,
		LiveRestore:  res.Info.LiveRestoreEnabled,
		CPUs:         res.Info.NCPU,
		MemoryBytes:  res.Info.MemTotal,
		RootDir:      res.Info.DockerRootDir,
	}, nil
}

// imageArchitecture translates a kernel's word for the machine, which engines
// report, into the word image manifests use.
func imageArchitecture(machine string) string {
	switch machine {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	case "armv7l", "armv6l":
		return "arm"
	case "i386", "i686":
		return "386"
	}
	return machine
}
