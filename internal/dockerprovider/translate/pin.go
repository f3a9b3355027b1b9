package translate

import (
	"slices"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
)

// PinImages is the spec with the images of members, those for which pinned says
// so, as a release has them: a tag that leads elsewhere by now changes nothing of
// a service that nobody meant to change.
func PinImages(s spec.Service, r *store.Release, pinned func(service string) bool) spec.Service {
	if r == nil {
		return s
	}
	if pinned(s.Name) {
		s.Image = r.Resolved
	}
	members := func(list []spec.Member) []spec.Member {
		list = slices.Clone(list)
		for i := range list {
			j := slices.IndexFunc(r.Members, func(m store.MemberImage) bool { return m.Name == list[i].Name })
			if j >= 0 && pinned(list[i].Name) {
				list[i].Image = r.Members[j].Resolved
			}
		}
		return list
	}
	s.Inits, s.Sidecars = members(s.Inits), members(s.Sidecars)
	return s
}
