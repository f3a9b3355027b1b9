package translate

import (
	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/provider"
)

// strategy is how a change of the group is carried out. Where two releases
// cannot run side by side, because one volume has one writer or a port of the
// host one holder, the old one stops before the new one starts, whatever was
// asked for; of a stateful set that holds for each replica by itself.
func strategy(asked string, s *spec.Service) spec.Strategy {
	switch {
	case s.Exclusive() || asked == provider.StrategyRecreate:
		return spec.Recreate
	case s.ReplicaExclusive() || asked == provider.StrategyRolling:
		return spec.Rolling
	}
	return spec.BlueGreen
}
