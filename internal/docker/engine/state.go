package engine

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"

	"github.com/berth-cloud/berth/internal/docker"
)

// listed translates one row of the engine's listing.
func listed(s *container.Summary) docker.ContainerState {
	state := docker.ContainerState{
		ID:      s.ID,
		Name:    ownName(s.Names),
		Image:   s.Image,
		ImageID: s.ImageID,
		Labels:  s.Labels,
		Status:  docker.Status(s.State),
		Created: time.Unix(s.Created, 0).UTC(),
		Mounts:  observedMounts(s.Mounts),
	}
	if s.NetworkSettings != nil {
		state.Networks = slices.Sorted(maps.Keys(s.NetworkSettings.Networks))
		state.Address = address(s.HostConfig.NetworkMode, s.NetworkSettings.Networks)
	}
	return state
}

// inspected translates the engine's full answer.
func inspected(c *container.InspectResponse) *docker.ContainerState {
	state := &docker.ContainerState{
		ID:           c.ID,
		Name:         strings.TrimPrefix(c.Name, "/"),
		ImageID:      c.Image,
		Created:      parseTime(c.Created),
		Mounts:       observedMounts(c.Mounts),
		Full:         true,
		RestartCount: c.RestartCount,
	}
	if c.Config != nil {
		state.Image, state.Labels = c.Config.Image, c.Config.Labels
	}
	if s := c.State; s != nil {
		state.Status = docker.Status(s.Status)
		state.Started = parseTime(s.StartedAt)
		state.Exit = exitState(s)
	}
	var mode string
	var wanted network.PortMap
	if h := c.HostConfig; h != nil {
		mode, wanted = string(h.NetworkMode), h.PortBindings
		state.Restart = docker.RestartPolicy(h.RestartPolicy.Name)
		state.Resources = docker.Resources{MemoryBytes: h.Memory, NanoCPUs: h.NanoCPUs}
		if h.PidsLimit != nil && *h.PidsLimit > 0 {
			state.Resources.PidsLimit = *h.PidsLimit
		}
	}
	if n := c.NetworkSettings; n != nil {
		state.Networks = slices.Sorted(maps.Keys(n.Networks))
		state.Address = address(mode, n.Networks)
		if state.Running() {
			wanted = n.Ports // with the host ports the engine chose
		}
	}
	state.Ports = observedPorts(wanted)
	return state
}

// exitState keeps the times of one run in order: an engine notes the start of
// a process only after the process runs, which may be after it ended.
func exitState(s *container.State) docker.ExitState {
	exit := docker.ExitState{
		Code: s.ExitCode, OOMKilled: s.OOMKilled, Error: s.Error,
		StartedAt: parseTime(s.StartedAt), FinishedAt: parseTime(s.FinishedAt),
	}
	ended := s.Status == container.StateExited || s.Status == container.StateDead
	if ended && !exit.FinishedAt.IsZero() && exit.FinishedAt.Before(exit.StartedAt) {
		exit.FinishedAt = exit.StartedAt
	}
	return exit
}

// ownName picks the container's name among those that links gave it.
func ownName(names []string) string {
	for _, n := range names {
		if n = strings.TrimPrefix(n, "/"); !strings.Contains(n, "/") {
			return n
		}
	}
	return ""
}

// address is the container's on the network it was created on. mode holds that
// network's name or id; an engine keeps the assigned address beside the one in
// use.
func address(mode string, networks map[string]*network.EndpointSettings) netip.Addr {
	settings := networks[mode]
	if settings == nil {
		for _, name := range slices.Sorted(maps.Keys(networks)) {
			s := networks[name]
			if s == nil {
				continue
			}
			if s.NetworkID != "" && s.NetworkID == mode {
				settings = s
				break
			}
			if settings == nil {
				settings = s
			}
		}
	}
	switch {
	case settings == nil:
		return netip.Addr{}
	case settings.IPAddress.IsValid():
		return settings.IPAddress
	case settings.IPAMConfig != nil && settings.IPAMConfig.IPv4Address.IsValid():
		return settings.IPAMConfig.IPv4Address
	case settings.IPAMConfig != nil:
		return settings.IPAMConfig.IPv6Address
	}
	return netip.Addr{}
}

// observedMounts leaves out what is neither a volume nor a host path.
func observedMounts(points []container.MountPoint) []docker.Mount {
	var out []docker.Mount
	for _, p := range points {
		m := docker.Mount{Path: p.Destination, ReadOnly: !p.RW}
		switch p.Type {
		case mount.TypeVolume:
			m.Volume = p.Name
		case mount.TypeBind:
			m.HostPath = p.Source
		default:
			continue
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b docker.Mount) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func observedPorts(ports network.PortMap) []docker.PortBinding {
	var out []docker.PortBinding
	for port, bindings := range ports {
		for _, b := range bindings {
			hostPort, _ := strconv.Atoi(b.HostPort) // "" and "0" both mean: not chosen yet
			var host string
			if b.HostIP.IsValid() {
				host = b.HostIP.String()
			}
			out = append(out, docker.PortBinding{
				HostIP: host, HostPort: hostPort,
				ContainerPort: int(port.Num()), Protocol: string(port.Proto()),
			})
		}
	}
	slices.SortFunc(out, func(a, b docker.PortBinding) int {
		return cmp.Or(cmp.Compare(a.ContainerPort, b.ContainerPort), cmp.Compare(a.Protocol, b.Protocol),
			cmp.Compare(a.HostIP, b.HostIP), cmp.Compare(a.HostPort, b.HostPort))
	})
	return out
}

// parseTime reads the engine's times; its "never" and nonsense are both zero.
func parseTime(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t
}
