package manifest

import (
	"fmt"
	"strings"

	"github.com/berth-cloud/berth/backend"
)

// Match is nil when each service has exactly one item of the lease, and each item a
// service. An item without a name is the one for DefaultService, when it is alone.
// What does not match is backend.ErrInvalidManifest; items that are wrong by
// themselves have the errors of backend.NormalizeItems.
func (s *Stack) Match(items []backend.LeaseItem) error {
	items, err := backend.NormalizeItems(items)
	if err != nil {
		return err
	}
	of := map[string]int{}
	for _, item := range items {
		of[item.ServiceName]++
	}
	var wrong []string
	for _, name := range s.Names() {
		if of[name] == 0 {
			wrong = append(wrong, fmt.Sprintf("manifest service %s has no matching lease item", quote(name)))
		}
	}
	told := map[string]bool{}
	for _, item := range items {
		name := item.ServiceName
		switch {
		case told[name]:
		case s.Services[name] == nil:
			wrong = append(wrong, fmt.Sprintf("lease item %s has no matching manifest service", quote(name)))
		case of[name] > 1:
			wrong = append(wrong, fmt.Sprintf("lease item %s is there %d times", quote(name), of[name]))
		}
		told[name] = true
	}
	if len(wrong) == 0 {
		return nil
	}
	more := ""
	if n := len(wrong) - maxFaults; n > 0 {
		wrong, more = wrong[:maxFaults], fmt.Sprintf("; and %d more", n)
	}
	return fmt.Errorf("%w: %s%s", backend.ErrInvalidManifest, strings.Join(wrong, "; "), more)
}
