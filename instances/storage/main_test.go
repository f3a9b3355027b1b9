package storage_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childEnv names the directory in which the test binary is one more writer.
const childEnv = "BERTH_STORAGE_CHILD"

// inBrief is the run with the race detector beside all other packages: it takes a part of
// the models, which the run without it takes whole.
func inBrief() bool { return testing.Short() || os.Getenv("BERTH_TEST_BRIEF") != "" }

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(playChild(dir))
	}
	flag.Parse()
	if inBrief() {
		if err := flag.Set("rapid.checks", "15"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
