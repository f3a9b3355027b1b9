package engine

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/berth-cloud/berth/internal/docker"
)

const (
	logDriver     = "json-file" // plain lines that any tool reads, and that survive a torn write
	logFiles      = 3
	defaultLogMiB = 10
)

// createOptions builds the whole container from a spec: what is not set here
// is the engine's default.
func createOptions(spec docker.ContainerSpec) (client.ContainerCreateOptions, error) {
	if err := checkSpec(spec); err != nil {
		return client.ContainerCreateOptions{}, err
	}
	exposed, bindings, err := portBindings(spec.Ports)
	if err != nil {
		return client.ContainerCreateOptions{}, err
	}
	mounts, err := mounts(&spec)
	if err != nil {
		return client.ContainerCreateOptions{}, err
	}
	init := spec.Init
	return client.ContainerCreateOptions{
		Name: spec.Name,
		Config: &container.Config{
			Image:        askFor(spec.Image),
			Entrypoint:   spec.Entrypoint,
			Cmd:          spec.Command,
			Env:          environment(spec.Env),
			WorkingDir:   spec.WorkingDir,
			User:         spec.User,
			Hostname:     spec.Hostname,
			Labels:       spec.Labels,
			StopSignal:   spec.StopSignal,
			ExposedPorts: exposed,
		},
		HostConfig: &container.HostConfig{
			NetworkMode:    container.NetworkMode(spec.Network.Network),
			ExtraHosts:     hostEntries(spec.Hosts),
			CapAdd:         spec.CapAdd,
			CapDrop:        spec.CapDrop,
			SecurityOpt:    securityOptions(spec),
			ReadonlyRootfs: spec.ReadOnlyRoot,
			PortBindings:   bindings,
			Mounts:         mounts,
			Tmpfs:          spec.Tmpfs,
			Resources:      resources(spec.Resources),
			RestartPolicy:  restartPolicy(spec.Restart),
			LogConfig:      logConfig(spec.LogMaxMiB),
			Init:           &init,
		},
		NetworkingConfig: endpoints(spec.Network),
	}, nil
}

// checkSpec refuses what the engine's JSON would silently change or misread.
func checkSpec(spec docker.ContainerSpec) error {
	if err := checkEnv(spec.Env); err != nil {
		return err
	}
	if err := checkArgs(spec.Entrypoint, spec.Command); err != nil {
		return err
	}
	if err := spec.CheckNames(); err != nil {
		return err
	}
	if spec.Network.Address.IsValid() && spec.Network.Network == "" {
		return fmt.Errorf("address %s without a network", spec.Network.Address)
	}
	return nil
}

// checkExec does the same for a command.
func checkExec(e docker.ExecSpec) error {
	if len(e.Command) == 0 || e.Command[0] == "" {
		return errors.New("no program")
	}
	if err := checkEnv(e.Env); err != nil {
		return err
	}
	return checkArgs(e.Command)
}

func checkEnv(vars []docker.EnvVar) error {
	for _, e := range vars {
		if e.Name == "" || strings.ContainsAny(e.Name, "=\x00") || !utf8.ValidString(e.Name) {
			return fmt.Errorf("environment variable name %q", e.Name)
		}
		if strings.ContainsRune(e.Value, 0) || !utf8.ValidString(e.Value) {
			// The value itself may be a secret and stays out of the message.
			return fmt.Errorf("environment variable %s: value is not UTF-8 without NUL", e.Name)
		}
	}
	return nil
}

func checkArgs(lists ...[]string) error {
	for _, arg := range slices.Concat(lists...) {
		if strings.ContainsRune(arg, 0) || !utf8.ValidString(arg) {
			return fmt.Errorf("argument %q is not UTF-8 without NUL", arg)
		}
	}
	return nil
}

// hostEntries are in the form that engines take, which the parts of an IPv6
// address do not confuse.
func hostEntries(hosts []docker.HostEntry) []string {
	var out []string
	for _, h := range hosts {
		out = append(out, h.Name+":"+h.Address.String())
	}
	return out
}

func securityOptions(spec docker.ContainerSpec) []string {
	if spec.NoNewPrivileges {
		return []string{"no-new-privileges"}
	}
	return nil
}

func environment(vars []docker.EnvVar) []string {
	out := make([]string, len(vars))
	for i, v := range vars {
		out[i] = v.Name + "=" + v.Value
	}
	return out
}

// endpoints joins the one network. Its key has to be the word that
// NetworkMode uses, or the engine attaches the container twice.
func endpoints(n docker.NetworkAttachment) *network.NetworkingConfig {
	if n.Network == "" {
		return nil
	}
	settings := &network.EndpointSettings{Aliases: n.Aliases}
	if n.Address.IsValid() {
		settings.IPAMConfig = &network.EndpointIPAMConfig{}
		if n.Address.Is4() {
			settings.IPAMConfig.IPv4Address = n.Address
		} else {
			settings.IPAMConfig.IPv6Address = n.Address
		}
	}
	return &network.NetworkingConfig{EndpointsConfig: map[string]*network.EndpointSettings{n.Network: settings}}
}

// portBindings demands a host address, since the engine takes a missing one
// for all of them.
func portBindings(ports []docker.PortBinding) (network.PortSet, network.PortMap, error) {
	if len(ports) == 0 {
		return nil, nil, nil
	}
	exposed, bindings := network.PortSet{}, network.PortMap{}
	for _, p := range ports {
		host, err := netip.ParseAddr(p.HostIP)
		if err != nil {
			return nil, nil, fmt.Errorf("published port %d: host address %q", p.ContainerPort, p.HostIP)
		}
		proto := p.Protocol
		if proto == "" {
			proto = "tcp"
		}
		port, ok := network.PortFrom(uint16(p.ContainerPort), network.IPProtocol(proto))
		if !ok || p.ContainerPort < 1 || p.ContainerPort > 65535 || p.HostPort < 0 || p.HostPort > 65535 {
			return nil, nil, fmt.Errorf("published port %d:%d/%s", p.HostPort, p.ContainerPort, proto)
		}
		exposed[port] = struct{}{}
		bindings[port] = append(bindings[port], network.PortBinding{HostIP: host, HostPort: strconv.Itoa(p.HostPort)})
	}
	return exposed, bindings, nil
}

func mounts(spec *docker.ContainerSpec) ([]mount.Mount, error) {
	var out []mount.Mount
	for _, m := range spec.Mounts {
		em := mount.Mount{Type: mount.TypeVolume, Source: m.Volume, Target: m.Path, ReadOnly: m.ReadOnly}
		switch {
		case (m.Volume == "") == (m.HostPath == ""):
			return nil, fmt.Errorf("mount at %s: want either a volume or a host path", m.Path)
		case m.HostPath != "":
			em.Type, em.Source = mount.TypeBind, m.HostPath
		case len(spec.VolumeLabels[m.Volume]) > 0:
			em.VolumeOptions = &mount.VolumeOptions{Labels: spec.VolumeLabels[m.Volume]}
		}
		out = append(out, em)
	}
	return out, nil
}

// resources sets the swap limit to the memory limit, so that a container over
// it is killed instead of thrashing the host's swap.
func resources(r docker.Resources) container.Resources {
	out := container.Resources{Memory: r.MemoryBytes, MemorySwap: r.MemoryBytes, NanoCPUs: r.NanoCPUs}
	if r.PidsLimit > 0 {
		limit := r.PidsLimit
		out.PidsLimit = &limit
	}
	return out
}

func restartPolicy(p docker.RestartPolicy) container.RestartPolicy {
	if p == "" {
		p = docker.RestartNo
	}
	return container.RestartPolicy{Name: container.RestartPolicyMode(p)}
}

// logConfig gives the size in plain bytes, since the engine reads its units as
// powers of ten.
func logConfig(maxMiB int) container.LogConfig {
	if maxMiB <= 0 {
		maxMiB = defaultLogMiB
	}
	return container.LogConfig{Type: logDriver, Config: map[string]string{
		"max-size": strconv.FormatInt(int64(maxMiB)<<20, 10),
		"max-file": strconv.Itoa(logFiles),
	}}
}
