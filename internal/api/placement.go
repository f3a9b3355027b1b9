package api

import "github.com/berth-cloud/berth/internal/spec"

// placeNotice is what is worth knowing about another placement of a service.
func placeNotice(now spec.Placement, wanted *spec.Service) string {
	next := wanted.Placement
	where := now
	where.Keep, where.MoveAfter = next.Keep, next.MoveAfter
	_, moves := spec.MovesAfter(&spec.Service{Volumes: wanted.Volumes, Inits: wanted.Inits, Sidecars: wanted.Sidecars})
	switch {
	case where.Equal(next):
		return "only what follows the loss of a node changes; no container does"
	case !moves:
		return "another place is asked for, but its volumes are on one node and stay there, and so does the app"
	}
	return "another place is asked for: containers that are on no such node are made anew on one, without a new release"
}
