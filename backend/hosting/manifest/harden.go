package manifest

import (
	"slices"

	"github.com/berth-cloud/berth/provider"
)

const (
	pidsLimit = 256

	// tmpfsSizeMB is of each directory in memory; it counts as memory of the
	// container.
	tmpfsSizeMB = 64
)

// standardTmpfs are writable in every container, the root being read-only.
func standardTmpfs() []string { return []string{"/tmp", "/run"} }

// hardened is what every container of a tenant has, whatever the document says.
func hardened() *provider.SecuritySpec {
	yes := true
	return &provider.SecuritySpec{ReadOnlyRootFS: true, CapDrop: []string{"ALL"}, NoNewPrivileges: &yes, PidsLimit: pidsLimit}
}

// InMemory reports whether a directory is in memory in every container of the service,
// whatever its image or its host say: an image's volume there is none.
func (s *Service) InMemory(dir string) bool {
	return slices.Contains(standardTmpfs(), dir) || slices.Contains(s.Tmpfs, dir)
}

// tmpfsSpecs are the standard ones, the document's and the host's, each path once.
func (s *Service) tmpfsSpecs(at Place) []provider.TmpfsSpec {
	taken := map[string]bool{}
	for _, v := range at.Volumes {
		taken[v.MountPath] = true
	}
	var out []provider.TmpfsSpec
	for _, dir := range slices.Concat(standardTmpfs(), s.Tmpfs, at.Tmpfs) {
		if !taken[dir] {
			taken[dir] = true
			out = append(out, provider.TmpfsSpec{MountPath: dir, SizeMB: tmpfsSizeMB})
		}
	}
	return out
}
