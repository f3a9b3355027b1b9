//go:build !race

package dockerprovider

// modelChecks is how many histories the suite's model tries, which waits after
// every call, and historyChecks how many the driver's own does: with the
// rapid.steps of setModelSteps these are 20,000 steps. `make soak` tries more of
// both by the flag rapid.checks.
const (
	modelChecks   = "30"
	historyChecks = "400"
)
