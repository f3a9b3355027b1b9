//go:build race

package memory_test

// modelChecks is small under the race detector; `make test` runs the models
// without it as well.
const modelChecks = "4"
