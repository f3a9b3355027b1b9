// Command enginesetup answers two questions of scripts/setup that a shell
// cannot: does a Docker engine answer on a socket and is live-restore on, and
// how is that setting added to a daemon.json without losing what is in it.
//
//	enginesetup ping SOCKET          prints "version=… live-restore=… swarm=…", or fails
//	enginesetup live-restore FILE    prints "created", "added", "present" or "off"
//
// It uses the standard library alone, so that it builds in a second on a
// machine where nothing has been built yet. It must never start, stop or change
// an engine.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

const usage = "usage: enginesetup ping SOCKET | enginesetup live-restore FILE"

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "enginesetup:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("%s", usage)
	}
	switch args[0] {
	case "ping":
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		e, err := ask(ctx, args[1])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "version=%s live-restore=%t swarm=%s\n", e.ServerVersion, e.LiveRestoreEnabled, e.Swarm.LocalNodeState)
		return err
	case "live-restore":
		outcome, err := ensureLiveRestore(args[1])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(out, outcome)
		return err
	default:
		return fmt.Errorf("unknown verb %q; %s", args[0], usage)
	}
}
