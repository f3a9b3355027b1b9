//go:build race

package dockerprovider

// modelChecks is small under the race detector; `make test` runs the models
// without it as well.
const modelChecks = "2"
