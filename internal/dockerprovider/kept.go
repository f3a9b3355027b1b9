package dockerprovider

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/docker"
	"github.com/berth-cloud/berth/internal/dockerprovider/records"
	"github.com/berth-cloud/berth/provider"
)

// keptPrefix begins the names of volumes that are a tenant's. No workload and no
// network is called so, which the volumes of instances have in that place.
func (d *Driver) keptPrefix() string { return d.opts.Prefix + "_kept_" }

// keptVolume is the engine's volume for a tenant's, with the marks that it has.
// None of them is a workload's. The name is a hash of whose it is: those of two
// tenants, or of two owners on one engine, never meet, whatever they are called.
func (d *Driver) keptVolume(tenant, volume string) docker.VolumeSpec {
	if tenant == "" || volume == "" {
		return docker.VolumeSpec{} // which no engine makes
	}
	sum := sha256.Sum256([]byte(d.opts.Owner + "\x00" + tenant + "\x00" + volume))
	return docker.VolumeSpec{Name: d.keptPrefix() + hex.EncodeToString(sum[:16]), Labels: d.keptLabels(tenant, volume)}
}

// keptLabels select volumes that are a tenant's: "" is any.
func (d *Driver) keptLabels(tenant, volume string) map[string]string {
	out := map[string]string{docker.LabelInstance: d.opts.Owner, docker.LabelKept: volume}
	if tenant != "" {
		out[docker.LabelTenant] = tenant
	}
	return out
}

// listKept lists volumes that are a tenant's. A label that lies about a name is not
// believed.
func (d *Driver) listKept(ctx context.Context, tenant, volume string) ([]docker.Volume, error) {
	list, err := d.rt.ListVolumes(ctx, d.keptLabels(tenant, volume))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(v docker.Volume) bool {
		return v.Name != d.keptVolume(v.Labels[docker.LabelTenant], v.Labels[docker.LabelKept]).Name
	}), nil
}

// KeptVolumes implements provider.VolumeKeeper.
func (d *Driver) KeptVolumes(ctx context.Context, tenantID string) ([]provider.KeptVolume, error) {
	list, err := d.listKept(ctx, tenantID, "")
	if err != nil {
		return nil, failed("list volumes", err)
	}
	out := make([]provider.KeptVolume, 0, len(list))
	for _, v := range list {
		out = append(out, provider.KeptVolume{ID: v.Labels[docker.LabelKept], TenantID: v.Labels[docker.LabelTenant], CreatedAt: v.Created.UTC()})
	}
	slices.SortFunc(out, provider.KeptVolume.Compare)
	return out, nil
}

// RemoveKeptVolume implements provider.VolumeKeeper.
func (d *Driver) RemoveKeptVolume(ctx context.Context, tenantID, volumeID string) error {
	what := "remove volume " + volumeID
	if volumeID == "" {
		return fmt.Errorf("%s: %w: no volume is named", what, provider.ErrInvalid)
	}
	list, err := d.listKept(ctx, "", volumeID)
	if err != nil {
		return failed(what, err)
	}
	i := slices.IndexFunc(list, func(v docker.Volume) bool { return v.Labels[docker.LabelTenant] == tenantID })
	switch {
	case len(list) == 0:
		return nil
	case i < 0:
		return fmt.Errorf("%s: %w: the tenant has none of that id", what, provider.ErrNotFound)
	}
	err = d.rt.RemoveVolume(ctx, list[i].Name)
	if docker.IsConflict(err) {
		return &provider.VolumeBusyError{ID: volumeID}
	}
	return failed(what, err)
}

// usageTimeout bounds a measurement, for which the engine reads every file of every
// volume.
const usageTimeout = 5 * time.Minute

// KeptVolumeUsage implements provider.VolumeKeeper.
func (d *Driver) KeptVolumeUsage(ctx context.Context, tenantID string, volumeIDs []string) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	list, err := d.listKept(ctx, tenantID, "")
	if err != nil {
		return nil, failed("measure volumes", err)
	}
	names := map[string]string{}
	for _, v := range list {
		if id := v.Labels[docker.LabelKept]; v.Labels[docker.LabelTenant] == tenantID && slices.Contains(volumeIDs, id) {
			names[id] = v.Name
		}
	}
	out := map[string]int64{}
	if len(names) == 0 {
		return out, nil
	}
	sizes, err := d.rt.VolumeSizes(ctx)
	if err != nil {
		return nil, failed("measure volumes", err)
	}
	for id, name := range names {
		if size, ok := sizes[name]; ok {
			out[id] = size
		}
	}
	return out, nil
}

// keptIDs are the ids of volumes that revisions of a workload name, and whether more
// than one of its own containers may write each.
func keptIDs(w *records.Workload) map[string]bool {
	out := map[string]bool{}
	if w == nil {
		return out
	}
	for i := range w.Revisions {
		for _, s := range w.Revisions[i].Services {
			for _, v := range s.Volumes {
				for _, id := range v.IDs {
					out[id] = out[id] || v.Shared
				}
			}
		}
	}
	return out
}

// writesKept reports whether a mount is of a volume that is a tenant's, to be written.
func (d *Driver) writesKept(m docker.Mount) bool {
	return !m.ReadOnly && strings.HasPrefix(m.Volume, d.keptPrefix())
}
