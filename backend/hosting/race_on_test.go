//go:build race

package hosting_test

// modelChecks is small under the race detector; the model is tried in full without.
const modelChecks = "60"
