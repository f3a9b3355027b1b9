package qemu_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// createCommand makes the test's own program a provider that makes one machine.
const createCommand = "create-a-machine"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == createCommand {
		os.Exit(createMain(os.Args[2], os.Args[3]))
	}
	if name := filepath.Base(os.Args[0]); name == stayingTool || name == goingTool {
		os.Exit(toolMain(name, diskInWork))
	}
	goleak.VerifyTestMain(m)
}
