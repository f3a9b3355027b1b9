//go:build !race

package dockerprovider

// modelChecks is how many histories each of the two models tries within the time
// that all tests have; `make soak` tries more of them by the flag rapid.checks.
const modelChecks = "30"
