//go:build !race

package application

// modelChecks times rapid.steps below is 20,000 steps.
const modelChecks = "400"
