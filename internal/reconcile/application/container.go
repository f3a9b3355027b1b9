package application

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// containerSpec is one container of a replica but for its mounts and its hosts:
// nothing of it comes from anywhere but the release and the vault.
func (c *Controller) containerSpec(ctx context.Context, d *store.DesiredService, a *Action, m spec.Member, addr netip.Addr) (docker.ContainerSpec, error) {
	r := a.Release
	cs := docker.ContainerSpec{
		Name: a.Container, Image: memberImage(r, a.Member, m.Role).ImageID, Entrypoint: m.Entrypoint, Command: m.Command,
		WorkingDir: m.WorkingDir, User: m.User, StopSignal: m.StopSignal, Init: m.Init, ReadOnlyRoot: m.ReadOnlyRoot,
		Labels:    c.labels(d, a, m),
		Network:   docker.NetworkAttachment{Network: NetworkName(c.networkPrefix, d.AppID), Address: addr},
		Resources: docker.Resources{MemoryBytes: m.Resources.MemoryBytes, NanoCPUs: m.Resources.MilliCPU * 1e6, PidsLimit: m.Resources.Pids},
		Restart:   docker.RestartNo,
	}
	if m.Role == spec.RoleMain {
		cs.Network.Aliases = aliases(d, r, a.Replica)
	}
	if r.Spec.Stateful {
		cs.Hostname = fmt.Sprintf("%s-%d", cmp.Or(r.Spec.Alias, m.Name), a.Replica)
	}
	if m.Hardened {
		cs.CapDrop, cs.CapAdd, cs.NoNewPrivileges = []string{"ALL"}, m.CapAdd, true
	}
	for _, t := range m.Tmpfs {
		if cs.Tmpfs == nil {
			cs.Tmpfs = map[string]string{}
		}
		cs.Tmpfs[t.Path] = tmpfsOptions(t)
	}
	for _, p := range m.Publish {
		cs.Ports = append(cs.Ports, docker.PortBinding{HostIP: hostIP(p), HostPort: p.HostPort, ContainerPort: p.Port, Protocol: cmp.Or(p.Protocol, "tcp")})
	}
	var err error
	cs.Env, err = c.env(ctx, m)
	return cs, err
}

func (c *Controller) labels(d *store.DesiredService, a *Action, m spec.Member) map[string]string {
	labels := map[string]string{}
	for _, set := range []map[string]string{a.Release.Spec.Labels, m.Labels, c.extraLabels, {
		docker.LabelInstance: c.instanceID, docker.LabelApp: d.AppID, docker.LabelService: c.service,
		docker.LabelRelease: a.Release.ID, docker.LabelSpecHash: a.Release.SpecHash, docker.LabelMember: m.Name,
		docker.LabelReplica: strconv.Itoa(a.Replica),
	}} {
		maps.Copy(labels, set)
	}
	if m.Role != spec.RoleMain {
		labels[docker.LabelRole] = string(m.Role)
	}
	return labels
}

// aliases are the names that the containers of the network resolve to the
// replica; one of a stateful service has a name of its own beside.
func aliases(d *store.DesiredService, r *store.Release, replica int) []string {
	alias := cmp.Or(r.Spec.Alias, ServiceAlias(d))
	if r.Spec.Stateful {
		return []string{alias, fmt.Sprintf("%s-%d", alias, replica)}
	}
	return []string{alias}
}

// env is a member's environment with the values of its secrets. An optional one
// that the vault did not have is left out.
func (c *Controller) env(ctx context.Context, m spec.Member) ([]docker.EnvVar, error) {
	var out []docker.EnvVar
	for _, e := range m.Env {
		value := e.Value
		if e.Secret.Key != "" {
			if e.Secret.Version == 0 {
				continue
			}
			secret, err := c.secrets.SecretValue(ctx, e.Secret.Key, e.Secret.Version)
			if err != nil {
				return nil, fmt.Errorf("variable %s: secret %s: %w", e.Name, e.Secret.Key, err)
			}
			value = secret.RevealString()
		}
		out = append(out, docker.EnvVar{Name: e.Name, Value: value})
	}
	return out, nil
}

func tmpfsOptions(t spec.Tmpfs) string {
	if t.SizeBytes > 0 {
		return fmt.Sprintf("size=%d", t.SizeBytes)
	}
	return ""
}

func hostIP(p spec.PublishedPort) string {
	switch {
	case p.Address != "":
		return p.Address
	case p.Public:
		return "0.0.0.0"
	}
	return "127.0.0.1"
}

// mounts are a member's volumes as the engine takes them. A path of the host
// is looked at again each time: what it leads to may have changed since the
// file that names it was accepted.
func (c *Controller) mounts(app string, a *Action, member spec.Member) ([]docker.Mount, error) {
	var out []docker.Mount
	for _, v := range member.Volumes {
		m := docker.Mount{Path: v.Path, ReadOnly: v.ReadOnly}
		if v.Name != "" {
			m.Volume = c.volumeSpec(app, volumeOf(a.Release, a.Replica, v)).Name
		} else {
			var err error
			if m.HostPath, err = c.hostPath(v.HostPath); err != nil {
				return nil, fmt.Errorf("%w %s: %w", errHostPath, v.HostPath, err)
			}
		}
		out = append(out, m)
	}
	for _, f := range c.fileVolumes(app, a.Container, member) {
		out = append(out, docker.Mount{Volume: f.volume.Name, Path: f.dir})
	}
	return out, nil
}

// volumeLabels mark the member's volumes as ours, should the engine have to make
// one again that somebody removed meanwhile.
func (c *Controller) volumeLabels(app string, a *Action, member spec.Member) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, v := range member.Volumes {
		if v.Name != "" {
			s := c.volumeSpec(app, volumeOf(a.Release, a.Replica, v))
			out[s.Name] = s.Labels
		}
	}
	for _, f := range c.fileVolumes(app, a.Container, member) {
		out[f.volume.Name] = f.volume.Labels
	}
	return out
}

// VolumeName is the Docker volume of a volume named in an app: names have no
// underscore, so no two pairs meet.
func VolumeName(prefix, appID, volume string) string {
	return NetworkPrefixOrDefault(prefix) + "_" + appID + "_" + volume
}

func (c *Controller) volumeSpec(app, volume string) docker.VolumeSpec {
	if id, kept := strings.CutPrefix(volume, keptMark); kept {
		return c.kept(id)
	}
	labels := maps.Clone(c.extraLabels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[docker.LabelInstance], labels[docker.LabelApp], labels[docker.LabelVolume] = c.instanceID, app, volume
	return docker.VolumeSpec{Name: VolumeName(c.networkPrefix, app, volume), Labels: labels}
}
