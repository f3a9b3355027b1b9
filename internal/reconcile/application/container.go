package application

import (
	"fmt"
	"net/netip"
	"strconv"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// containerSpec is the container of a replica but for its mounts: nothing of it
// comes from anywhere but the release.
func (c *Controller) containerSpec(d *store.DesiredService, r *store.Release, replica int, addr netip.Addr) docker.ContainerSpec {
	s := &r.Spec
	labels := map[string]string{}
	for k, v := range s.Labels {
		labels[k] = v
	}
	for k, v := range map[string]string{
		docker.LabelInstance: c.instanceID, docker.LabelApp: d.AppID, docker.LabelService: c.service,
		docker.LabelRelease: r.ID, docker.LabelSpecHash: r.SpecHash, docker.LabelMember: "main",
		docker.LabelReplica: strconv.Itoa(replica),
	} {
		labels[k] = v
	}
	cs := docker.ContainerSpec{
		Name: releaseContainer(r, replica), Image: r.ImageID, Command: s.Command, Labels: labels,
		Network: docker.NetworkAttachment{
			Network: NetworkName(c.networkPrefix, d.AppID), Address: addr, Aliases: []string{ServiceAlias(d)},
		},
		Resources: docker.Resources{MemoryBytes: s.Resources.MemoryBytes, NanoCPUs: s.Resources.MilliCPU * 1e6},
		Restart:   docker.RestartNo,
	}
	for _, e := range s.Env {
		cs.Env = append(cs.Env, docker.EnvVar{Name: e.Name, Value: e.Value})
	}
	for _, p := range s.Publish {
		ip := "127.0.0.1"
		if p.Public {
			ip = "0.0.0.0"
		}
		cs.Ports = append(cs.Ports, docker.PortBinding{HostIP: ip, HostPort: p.HostPort, ContainerPort: p.Port, Protocol: "tcp"})
	}
	return cs
}

// mounts are a service's volumes as the engine takes them. A path of the host
// is looked at again each time: what it leads to may have changed since the
// file that names it was accepted.
func (c *Controller) mounts(app string, volumes []spec.Volume) ([]docker.Mount, error) {
	var out []docker.Mount
	for _, v := range volumes {
		m := docker.Mount{Path: v.Path, ReadOnly: v.ReadOnly}
		if v.Name != "" {
			m.Volume = c.volumeSpec(app, v.Name).Name
		} else {
			var err error
			if m.HostPath, err = c.hostPath(v.HostPath); err != nil {
				return nil, fmt.Errorf("%w %s: %w", errHostPath, v.HostPath, err)
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// VolumeName is the Docker volume of a volume named in an app: names have no
// underscore, so no two pairs meet.
func VolumeName(prefix, appID, volume string) string {
	return NetworkPrefixOrDefault(prefix) + "_" + appID + "_" + volume
}

func (c *Controller) volumeSpec(app, volume string) docker.VolumeSpec {
	return docker.VolumeSpec{Name: VolumeName(c.networkPrefix, app, volume), Labels: map[string]string{
		docker.LabelInstance: c.instanceID, docker.LabelApp: app, docker.LabelVolume: volume,
	}}
}
