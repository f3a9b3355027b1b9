package machine

import (
	"fmt"
	"io"
	"os"
)

// Descriptors that a launcher and a machine's first process are started with.
const (
	lockFD = 3
	goFD   = 4
)

const usage = "usage: launch FOLDER, or init FOLDER; only the provider of netns machines calls this\n"

// Main is the command: args are what follows its name. It returns the exit code.
// The process must be this command's own, as it changes its namespaces.
func Main(args []string, stderr io.Writer) int {
	if len(args) != 2 || (args[0] != "launch" && args[0] != "init") {
		_, _ = io.WriteString(stderr, usage)
		return 2
	}
	// Nothing that is started from here inherits the lock unless it is told to.
	lock := os.NewFile(lockFD, LockFile)
	if _, err := lock.Stat(); err != nil {
		_, _ = io.WriteString(stderr, usage)
		return 2
	}
	closeOnExec(lockFD)
	var err error
	if args[0] == "launch" {
		err = launch(args[1], lock)
	} else {
		err = live(args[1], stderr)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: %v\n", args[0], err)
		return 1
	}
	return 0
}
