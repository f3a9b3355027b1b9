package provider

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"
)

// VolumeKeeper is what a provider implements that keeps volumes which are no
// instance's: those that VolumeSpec.IDs names. They are a tenant's, they stay when the
// instances that mounted them are deprovisioned, and another instance of the tenant
// may mount them then. CapKeptVolumes says that it works.
type VolumeKeeper interface {
	// KeptVolumes lists the volumes of a tenant, sorted by id; an empty tenantID
	// is every tenant. It is all of them or an error.
	KeptVolumes(ctx context.Context, tenantID string) ([]KeptVolume, error)

	// RemoveKeptVolume removes a volume with its data, and returns once it is
	// gone. It succeeds when there is none. While a container has it, it is ErrBusy, as a VolumeBusyError; a
	// volume of another tenant is ErrNotFound, and stays.
	RemoveKeptVolume(ctx context.Context, tenantID, volumeID string) error

	// KeptVolumeUsage measures how many bytes each volume holds. A volume that is
	// not there, or that cannot be measured, is not in the answer.
	KeptVolumeUsage(ctx context.Context, tenantID string, volumeIDs []string) (map[string]int64, error)
}

// KeptVolume is one volume that no instance owns.
type KeptVolume struct {
	ID        string    `json:"id"`
	TenantID  string    `json:"tenant_id"`
	CreatedAt time.Time `json:"created_at,omitzero"`
}

// VolumeBusyError is the ErrBusy of a volume: a container has it.
type VolumeBusyError struct{ ID string }

// Error implements error.
func (e *VolumeBusyError) Error() string {
	return "provider: volume " + e.ID + " is in use by a container"
}

// Is makes it an ErrBusy.
func (e *VolumeBusyError) Is(target error) bool { return target == ErrBusy }

// Compare orders volumes by id, and those of several tenants with one id by tenant.
func (v KeptVolume) Compare(other KeptVolume) int {
	return cmp.Or(strings.Compare(v.ID, other.ID), strings.Compare(v.TenantID, other.TenantID))
}

// ImageInspector is what a provider implements that can say what an image declares.
type ImageInspector interface {
	// InspectImage says what the image of a reference declares, and has it fetched
	// where it has to be. It waits for no fetch: while one is under way it is
	// ErrPending, and is asked again later. An image that cannot be had is
	// ErrImageUnavailable; the next call tries again.
	InspectImage(ctx context.Context, ref string) (*ImageInfo, error)
}

// ImageInfo is what an image declares.
type ImageInfo struct {
	// Digest identifies the content, "sha256:…"; it is never empty.
	Digest string `json:"digest"`
	// Volumes are the directories that it wants to keep, clean, sorted, each once.
	Volumes []string `json:"volumes,omitempty"`
	// User is whom it runs as, as it is written in the image; "" is root.
	User string `json:"user,omitempty"`
}

// ImageVolumes makes what an image declares what ImageInfo.Volumes is: each path
// made absolute and clean, sorted, each once, and without those that no mount can
// be at.
func ImageVolumes(declared []string) []string {
	var out []string
	for _, name := range declared {
		if name == "" {
			continue
		}
		if name = path.Clean("/" + name); cleanAbsolute(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var (
	// ErrPending means that something is on its way that the answer needs. The call
	// may be repeated after a moment.
	ErrPending = errors.New("provider: not yet known")

	// ErrImageUnavailable means that an image cannot be had: there is none of that
	// name, or its registry refuses it or does not answer.
	ErrImageUnavailable = errors.New("provider: image unavailable")
)
