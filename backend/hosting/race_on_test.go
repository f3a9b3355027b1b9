//go:build race

package hosting_test

// modelChecks is small under the race detector; the model is tried in full without.
const modelChecks = "60"

// underRace says so to tests that would take too long.
const underRace = true

// cutStride is the distance of the moments at which a story is cut; `make test`
// cuts at each of them without the race detector as well.
const cutStride = 4
