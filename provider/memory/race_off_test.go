//go:build !race

package memory_test

// modelChecks is how many histories of some 30 steps the models try.
const modelChecks = "100"
