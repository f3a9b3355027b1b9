package qemu_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// createCommand makes the test's own program a provider that makes one machine.
const createCommand = "create-a-machine"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == createCommand {
		os.Exit(createMain(os.Args[2], os.Args[3]))
	}
	goleak.VerifyTestMain(m)
}
