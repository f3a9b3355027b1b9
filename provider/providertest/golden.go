package providertest

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/berth-cloud/berth/provider"
)

// Capabilities holds what a provider lists against a golden file, one capability
// a line and sorted. So whoever adds one changes a file that is read.
func Capabilities(t testing.TB, p provider.Provider, path string) {
	t.Helper()
	var lines []string
	for _, c := range p.Capabilities() {
		lines = append(lines, string(c))
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("the capabilities are\n%sand cannot be compared: %v", got, err)
	}
	if got != string(want) {
		t.Errorf("the capabilities are\n%sbut %s lists\n%s", got, path, want)
	}
}
