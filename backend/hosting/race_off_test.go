//go:build !race

package hosting_test

// modelChecks times the steps of TestMain is 20,000 steps.
const modelChecks = "400"
