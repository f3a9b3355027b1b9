package group_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// inBrief is the run with the race detector beside all other packages: it takes a part of
// the cut points and of the models, which the run without it takes whole.
func inBrief() bool { return testing.Short() || os.Getenv("BERTH_TEST_BRIEF") != "" }

func TestMain(m *testing.M) {
	flag.Parse()
	if inBrief() {
		if err := flag.Set("rapid.checks", "5"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}
