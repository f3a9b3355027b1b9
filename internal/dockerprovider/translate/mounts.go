package translate

import (
	"slices"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/provider"
)

// VolumeName is a volume's name in the spec. The workload is part of it, since
// workloads on one network are services of one app to the planner.
func VolumeName(workload id.ID, volume string) string { return workload.String() + "_" + volume }

func (w Workload) volumes(list []provider.VolumeSpec) []spec.Volume {
	var out []spec.Volume
	for _, v := range list {
		out = append(out, spec.Volume{Name: VolumeName(w.ID, v.Name), Path: v.MountPath, ReadOnly: v.ReadOnly, Shared: v.Shared, IDs: v.IDs})
	}
	return out
}

func tmpfs(list []provider.TmpfsSpec) []spec.Tmpfs {
	var out []spec.Tmpfs
	for _, t := range list {
		out = append(out, spec.Tmpfs{Path: t.MountPath, SizeBytes: int64(t.SizeMB) << 20})
	}
	slices.SortFunc(out, func(a, b spec.Tmpfs) int { return strings.Compare(a.Path, b.Path) })
	return out
}
