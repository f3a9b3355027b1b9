//go:build !race

package pool

// modelChecks times the rapid.steps of TestMain is 20,000 steps.
const modelChecks = "400"
