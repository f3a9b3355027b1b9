package provider

import "time"

// RolloutSpec bounds the change from one release to the next. It belongs to the
// workload and to no release: a rollback leaves it alone.
type RolloutSpec struct {
	// MaxSurge is how many groups there may be above the wanted number while
	// StrategyRolling works; a percentage is of the wanted number, rounded up.
	// Empty is DefaultMaxSurge.
	MaxSurge IntOrPercent `json:"max_surge,omitempty"`

	// MaxUnavailable is how many groups may be missing meanwhile; a percentage is
	// rounded down. Empty is DefaultMaxUnavailable.
	MaxUnavailable IntOrPercent `json:"max_unavailable,omitempty"`

	// ReadyTimeout is how long a new group may take to become ready before the
	// rollout has failed. Zero is DefaultReadinessTimeout.
	ReadyTimeout time.Duration `json:"ready_timeout,omitempty"`

	// StableWindow is how long a new group must stay ready before it counts.
	// Zero is the provider's default.
	StableWindow time.Duration `json:"stable_window,omitempty"`
}

// What an empty bound of RolloutSpec means: nothing is missing at any time.
const (
	DefaultMaxSurge       IntOrPercent = "25%"
	DefaultMaxUnavailable IntOrPercent = "0"
)

// Strategies of a DeployRequest.
const (
	// StrategyBlueGreen brings up all new groups beside the old ones and then
	// moves the traffic at once.
	StrategyBlueGreen = "blue-green"

	// StrategyRolling replaces groups a few at a time, within RolloutSpec.
	StrategyRolling = "rolling"

	// StrategyRecreate stops the old groups before it starts new ones. When those
	// do not become ready the old ones are started again.
	StrategyRecreate = "recreate"

	// StrategyCanary moves a part of the traffic first.
	StrategyCanary = "canary"
)
