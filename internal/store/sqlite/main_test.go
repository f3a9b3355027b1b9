package sqlite

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childEnv makes the test binary play one role of childRoles and nothing else.
const (
	childEnv    = "BERTH_STORE_CHILD"
	childDirEnv = "BERTH_STORE_CHILD_DIR"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(playChild(role, os.Getenv(childDirEnv)))
	}
	goleak.VerifyTestMain(m)
}
