package instances

import (
	"maps"
	"slices"
)

// DeniedSerials are all serials for which Denied is true, in order. A process that has not
// called RefreshDenied may know of none.
func (m *Manager) DeniedSerials() []string {
	m.denied.mu.RLock()
	defer m.denied.mu.RUnlock()
	return slices.Sorted(maps.Keys(m.denied.all))
}
