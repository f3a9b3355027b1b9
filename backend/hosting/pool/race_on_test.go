//go:build race

package pool

// The model is tried in full without the race detector.
const modelChecks = "20"
