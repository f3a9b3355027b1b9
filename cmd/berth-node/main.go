// Command berth-node is what runs on a machine beside its container engine.
// `berth-node ingress` is the data plane, `berth-node agent` what makes a machine a node,
// and `berth-node join` how a host that is there already becomes one.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/berth-cloud/berth/instances/infra/netns/machine"
)

const usage = `Usage: berth-node <command> [flags]

Commands:
  ingress   the data plane: serves apps by the routes its control plane pushes
  agent     makes this machine a node: opens what its control plane asks for
  join      makes this host known to a control plane, by a token of "berth node join"
  version   print the build

Run a command with -h for its flags.
`

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		_, _ = io.WriteString(stderr, usage)
		return exitUsage
	}
	switch args[0] {
	case "ingress":
		return ingress(ctx, args[1:], stderr)
	case "agent":
		return agent(ctx, args[1:], stderr)
	case "join":
		return join(ctx, args[1:], stdout, stderr)
	case "netns-init":
		// Not for people: the provider of netns machines starts it.
		return machine.Main(args[1:], stderr)
	case "version", "--version":
		_, _ = fmt.Fprintln(stdout, build())
		return exitOK
	case "help", "-h", "--help":
		_, _ = io.WriteString(stdout, usage)
		return exitOK
	}
	_, _ = fmt.Fprintf(stderr, "berth-node: unknown command %q\n\n%s", args[0], usage)
	return exitUsage
}

// version is set at build time with -ldflags "-X main.version=…".
var version = ""

func build() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "dev-" + s.Value[:12]
		}
	}
	return "dev"
}
