//go:build !race

package rollout

const underRace = false
