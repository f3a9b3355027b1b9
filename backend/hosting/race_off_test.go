//go:build !race

package hosting_test

// modelChecks times the steps of TestMain, less those that make no sense, is more than
// 20,000 steps.
const modelChecks = "900"

// underRace says so to tests that would take too long.
const underRace = false

// cutStride is the distance of the moments at which a story is cut; `make test`
// cuts at each of them without the race detector as well.
const cutStride = 1
