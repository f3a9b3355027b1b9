package instances_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// inBrief is the run with the race detector beside all other packages: it takes a part of
// the cut points, which the run without it takes whole.
func inBrief() bool { return testing.Short() || os.Getenv("BERTH_TEST_BRIEF") != "" }

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
