//go:build race

package rollout

// underRace thins out tests that are long and have one goroutine.
const underRace = true
