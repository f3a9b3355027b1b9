package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/provider"
)

// keptKey names a volume that is a tenant's.
type keptKey struct{ tenant, id string }

// keptVolume is files that outlive an instance. It is under the cluster's lock.
type keptVolume struct {
	keptKey
	madeAt time.Time
	files  fileset
}

// keptOf are the tenant's volumes that a container mounts, by their names in its
// service. Those that are not there are made.
func (p *Provider) keptOf(ctx context.Context, o *container) (map[string]*keptVolume, error) {
	out := map[string]*keptVolume{}
	for _, v := range o.spec.Volumes {
		if len(v.IDs) == 0 {
			continue
		}
		if o.group.replica >= len(v.IDs) {
			return nil, &failure{o.service, provider.ReasonStartFailed, fmt.Sprintf("volume %s has no id for replica %d", v.Name, o.group.replica)}
		}
		key := keptKey{o.tenant, v.IDs[o.group.replica]}
		have := p.cluster.keptVolume(key)
		if have == nil {
			err := p.wire.do(ctx, "make volume "+key.id, func() error { have = p.cluster.keep(key); return nil })
			if err != nil {
				return nil, err
			}
		}
		out[v.Name] = have
	}
	return out, nil
}

func (c *Cluster) keptVolume(key keptKey) *keptVolume {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept[key]
}

// keep makes a volume, unless somebody else just has.
func (c *Cluster) keep(key keptKey) *keptVolume {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[key] == nil {
		c.kept[key] = &keptVolume{keptKey: key, madeAt: c.now()}
	}
	return c.kept[key]
}

// waitsForLocked is the id of a volume that o may write and a running container of
// another instance may write too, or "".
func (o *container) waitsForLocked() string {
	for _, m := range o.mounts {
		if m.kept == nil || m.readOnly {
			continue
		}
		for _, other := range o.cluster.containers {
			if other.instance != o.instance && other.state == running && other.writes(m.kept) {
				return m.kept.id
			}
		}
	}
	return ""
}

func (o *container) writes(v *keptVolume) bool {
	return slices.ContainsFunc(o.mounts, func(m mount) bool { return m.kept == v && !m.readOnly })
}

func waitsText(volume string) string { return "volume " + volume + " is in use by another instance" }

// fit makes the number of groups one that a release has volumes for.
func (r *record) fit(release id.ID) { r.Replicas = min(r.Replicas, r.room(release)) }

// room is how many groups of a release have volumes.
func (r *record) room(release id.ID) int {
	room := provider.MaxReplicas
	for _, s := range r.services(release) {
		for _, v := range s.Volumes {
			if len(v.IDs) > 0 {
				room = min(room, len(v.IDs))
			}
		}
	}
	return room
}

// KeptVolumes implements provider.VolumeKeeper.
func (p *Provider) KeptVolumes(ctx context.Context, tenantID string) ([]provider.KeptVolume, error) {
	if err := p.keeps(); err != nil {
		return nil, err
	}
	if _, err := p.wire.ask(ctx, read, "list volumes"); err != nil {
		return nil, err
	}
	c := p.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	out := []provider.KeptVolume{}
	for key, v := range c.kept {
		if tenantID == "" || key.tenant == tenantID {
			out = append(out, provider.KeptVolume{ID: key.id, TenantID: key.tenant, CreatedAt: v.madeAt})
		}
	}
	slices.SortFunc(out, provider.KeptVolume.Compare)
	return out, nil
}

// RemoveKeptVolume implements provider.VolumeKeeper.
func (p *Provider) RemoveKeptVolume(ctx context.Context, tenantID, volumeID string) error {
	if err := p.keeps(); err != nil {
		return err
	}
	what := "remove volume " + volumeID
	if v, err := p.ownVolume(ctx, what, tenantID, volumeID); err != nil || v == nil {
		return err
	}
	return p.wire.do(ctx, what, func() error { return p.cluster.dropKept(keptKey{tenantID, volumeID}) })
}

// ownVolume is a volume of a tenant, or nil where nobody has one of that id.
func (p *Provider) ownVolume(ctx context.Context, what, tenantID, volumeID string) (*keptVolume, error) {
	if _, err := p.wire.ask(ctx, read, what); err != nil {
		return nil, err
	}
	c := p.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.kept[keptKey{tenantID, volumeID}]; v != nil {
		return v, nil
	}
	for key := range c.kept {
		if key.id == volumeID {
			return nil, fmt.Errorf("%s: %w: the tenant has none of that id", what, provider.ErrNotFound)
		}
	}
	return nil, nil
}

func (c *Cluster) dropKept(key keptKey) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.kept[key]
	for _, o := range c.containers {
		if v != nil && slices.ContainsFunc(o.mounts, func(m mount) bool { return m.kept == v }) {
			return &provider.VolumeBusyError{ID: key.id}
		}
	}
	delete(c.kept, key)
	return nil
}

// KeptVolumeUsage implements provider.VolumeKeeper: the bytes of the files.
func (p *Provider) KeptVolumeUsage(ctx context.Context, tenantID string, volumeIDs []string) (map[string]int64, error) {
	if err := p.keeps(); err != nil {
		return nil, err
	}
	if _, err := p.wire.ask(ctx, read, "measure volumes"); err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, v := range volumeIDs {
		if have := p.cluster.keptVolume(keptKey{tenantID, v}); have != nil {
			out[v] = have.files.size()
		}
	}
	return out, nil
}

func (p *Provider) keeps() error {
	if !p.can(provider.CapKeptVolumes) {
		return fmt.Errorf("%w: volumes that stay", provider.ErrNotSupported)
	}
	return nil
}

// KeptVolumes names the volumes that no instance owns, as "tenant/id", sorted.
func (c *Cluster) KeptVolumes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for key := range c.kept {
		out = append(out, strings.Join([]string{key.tenant, key.id}, "/"))
	}
	slices.Sort(out)
	return out
}
