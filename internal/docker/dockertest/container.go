package dockertest

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
)

// container is one container. The engine's lock guards it.
type container struct {
	seq     uint64 // creation order
	id      string
	spec    docker.ContainerSpec
	image   *image
	created time.Time

	status        docker.Status
	policy        docker.RestartPolicy
	resources     docker.Resources
	stoppedByUser bool
	stopping      bool
	wedged        bool // no start succeeds any more

	ranOn    string   // id of the network it last ran on
	net      *network // while it runs
	addr     netip.Addr
	ports    []docker.PortBinding // while it runs
	started  time.Time
	finished time.Time
	code     int
	oom      bool
	errText  string

	restarts int                    // since the last start by a caller
	backoff  time.Duration          // before the last automatic restart
	runs     int                    // processes started in all
	process  *Behaviour             // of the current run
	gone     chan struct{}          // closed when that run ends
	files    map[string]docker.File // by absolute path, outside of volumes
	logs     []logRun
	dropped  int    // runs dropped from logs
	due      *timer // the end of the process, or the automatic restart
	kill     *timer // the kill at the end of the grace
}

func (c *container) active() bool {
	return c.status == docker.StatusRunning || c.status == docker.StatusRestarting || c.status == docker.StatusPaused
}

// find returns a container by id, id prefix of 12 or more digits, or name.
func (e *Engine) find(ref string) (*container, error) {
	if c, ok := e.byID[ref]; ok {
		return c, nil
	}
	if c, ok := e.byName[ref]; ok {
		return c, nil
	}
	if len(ref) >= 12 && len(ref) < 64 {
		for id, c := range e.byID {
			if id[:len(ref)] == ref {
				return c, nil
			}
		}
	}
	return nil, fmt.Errorf("container %q: %w", ref, docker.ErrNotFound)
}

// sorted is every container in the order of creation.
func (e *Engine) sorted() []*container {
	return slices.SortedFunc(maps.Values(e.byID), func(a, b *container) int { return int(int64(a.seq) - int64(b.seq)) })
}

// state is the container as List reports it; the caller owns what it gets.
func (c *container) state() docker.ContainerState {
	s := docker.ContainerState{
		ID: c.id, Name: c.spec.Name, Image: c.spec.Image, ImageID: c.image.ID,
		Labels: maps.Clone(c.spec.Labels), Status: c.status, Created: c.created,
		Address: c.spec.Network.Address, Mounts: slices.Clone(c.spec.Mounts),
		Networks: []string{c.networkName()},
	}
	if c.net != nil {
		s.Address = c.addr
	}
	return s
}

// full is the container as Inspect reports it.
func (c *container) full() docker.ContainerState {
	s := c.state()
	s.Full = true
	s.Started = c.started
	s.Exit = c.exit()
	s.RestartCount = c.restarts
	s.Restart = c.policy
	s.Resources = c.resources
	s.Ports = slices.Clone(c.spec.Ports)
	if c.net != nil {
		s.Ports = slices.Clone(c.ports)
	}
	return s
}

func (c *container) exit() docker.ExitState {
	return docker.ExitState{Code: c.code, OOMKilled: c.oom, Error: c.errText, StartedAt: c.started, FinishedAt: c.finished}
}

func (c *container) networkName() string {
	if c.spec.Network.Network == "" {
		return defaultNetwork
	}
	return c.spec.Network.Network
}

// cloneSpec makes a spec independent of what its caller does with it later.
func cloneSpec(s docker.ContainerSpec) docker.ContainerSpec {
	s.Entrypoint = slices.Clone(s.Entrypoint)
	s.Command = slices.Clone(s.Command)
	s.Env = slices.Clone(s.Env)
	s.Labels = maps.Clone(s.Labels)
	s.Network.Aliases = slices.Clone(s.Network.Aliases)
	s.CapDrop = slices.Clone(s.CapDrop)
	s.CapAdd = slices.Clone(s.CapAdd)
	s.Hosts = slices.Clone(s.Hosts)
	s.Ports = slices.Clone(s.Ports)
	s.Mounts = slices.Clone(s.Mounts)
	s.Tmpfs = maps.Clone(s.Tmpfs)
	return s
}
