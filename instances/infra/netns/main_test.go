package netns_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

// The test's own program is what machines are started with, their agent, and in
// light ones their engine.
const (
	initCommand       = "netns-init"
	unrecordedCommand = "launch-unrecorded"
	heldCommand       = "launch-held"
	agentCommand      = "test-agent"
	stubEngine        = "stub-engine"
)

// The programs end by syscall.Exit: with the race detector, os.Exit takes a second.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == stubEngine {
		syscall.Exit(engineMain())
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case initCommand:
			syscall.Exit(machine.Main(os.Args[2:], os.Stderr))
		case unrecordedCommand, heldCommand:
			syscall.Exit(launcherThatIsKilled(os.Args[len(os.Args)-1], os.Args[1] == heldCommand))
		case agentCommand:
			syscall.Exit(agentMain(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}
