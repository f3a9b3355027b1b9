package storage_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childEnv names the directory in which the test binary is one more writer.
const childEnv = "BERTH_STORAGE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(playChild(dir))
	}
	goleak.VerifyTestMain(m)
}
