package api

import "github.com/berth-cloud/berth/internal/spec"

// placeNotice is what is worth knowing about another placement of a service.
func placeNotice(now spec.Placement, wanted *spec.Service) string {
	next := wanted.Placement
	where := now
	where.Keep, where.MoveAfter = next.Keep, next.MoveAfter
	switch {
	case where.Equal(next):
		return "only what follows the loss of a node changes; no container does"
	case !movable(wanted):
		return "another place is asked for, but its volumes are on one node and stay there, and so does the app"
	}
	return "another place is asked for: new containers of the same image take over, where they are to be"
}

// movable reports whether a service can be elsewhere than it is: no volume holds it.
func movable(s *spec.Service) bool {
	_, moves := spec.MovesAfter(&spec.Service{Volumes: s.Volumes, Inits: s.Inits, Sidecars: s.Sidecars})
	return moves
}
