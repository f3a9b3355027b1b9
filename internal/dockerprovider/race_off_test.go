//go:build !race

package dockerprovider

// modelChecks is how many histories each of the two models tries: with the
// rapid.steps of setModelSteps they are 20,000 steps together.
const modelChecks = "200"
