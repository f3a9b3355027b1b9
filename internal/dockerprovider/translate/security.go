package translate

import (
	"slices"

	"github.com/berth-cloud/berth/provider"
)

// DefaultCapabilities are what every container may do unless it drops them:
// what images need that start as root, prepare their directories and change to
// another user, or listen below port 1024.
func DefaultCapabilities() []string {
	return []string{"CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "NET_BIND_SERVICE", "SETGID", "SETUID"}
}

// allCapabilities names every capability at once.
const allCapabilities = "ALL"

// capabilities are those of a container, without the prefix and sorted.
func capabilities(s *provider.SecuritySpec) []string {
	out := DefaultCapabilities()
	if s == nil {
		return out
	}
	out = slices.DeleteFunc(out, func(c string) bool {
		return slices.Contains(s.CapDrop, allCapabilities) || slices.Contains(s.CapDrop, c)
	})
	out = append(out, s.CapAdd...)
	slices.Sort(out)
	return slices.Compact(out)
}

// pidsLimit bounds the processes of a container; zero is the engine's default.
func pidsLimit(s *provider.SecuritySpec) int64 {
	if s == nil {
		return 0
	}
	return s.PidsLimit
}
