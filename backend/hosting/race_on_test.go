//go:build race

package hosting_test

// modelChecks is small under the race detector; the model is tried in full without.
const modelChecks = "60"

// underRace says so to tests that would take too long.
const underRace = true
