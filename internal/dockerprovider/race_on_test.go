//go:build race

package dockerprovider

// Both are small under the race detector; `make test` runs the models without it
// as well.
const (
	modelChecks   = "2"
	historyChecks = "10"
)
