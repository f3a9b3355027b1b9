package netns_test

import (
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

// The test's own program is what machines are started with, and their agent.
const (
	initCommand  = "netns-init"
	agentCommand = "test-agent"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case initCommand:
			os.Exit(machine.Main(os.Args[2:], os.Stderr))
		case agentCommand:
			os.Exit(agent(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(m)
}

// agent writes down what it was called with, and lives until it is told to end.
func agent(args []string) int {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	host, err := os.Hostname()
	if err != nil {
		return 1
	}
	said := host + " " + strings.Join(args, " ") + "\n"
	if err := os.WriteFile(filepath.Join(machine.BerthRoot, "called"), []byte(said), 0o600); err != nil {
		return 1
	}
	<-stop
	return 0
}
