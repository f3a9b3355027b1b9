// Command berthd is Berth's daemon: "berthd server" is the control plane, and
// "berthd backend" hosts leases.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/berth-cloud/berth/internal/daemon"
	"github.com/berth-cloud/berth/internal/daemon/backendd"
	"github.com/berth-cloud/berth/internal/flaglist"
)

// Set by the linker.
var (
	version  = "dev"
	revision = ""
)

const usage = `berthd runs Berth's control plane, or a backend that hosts leases.

Usage:
  berthd server [flags]    keep apps running on this machine's Docker engine
  berthd backend [flags]   host leases on this machine's Docker engine, over signed HTTP
  berthd version           print the version

Examples:
  berthd server --data-dir /var/lib/berth --ingress-http :80
  berthd backend --config /etc/berth/backend.yaml --data-dir /var/lib/berth-backend

"berthd server -h" and "berthd backend -h" list the flags. Exit codes: 0 ended as asked, 1 failed, 2 wrong usage.
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		_, _ = fmt.Fprint(stderr, usage)
		return 2
	}
	switch args[0] {
	case "server":
		return server(args[1:], stderr)
	case "backend":
		return backend(args[1:], stderr)
	case "version", "--version":
		_, _ = fmt.Fprintln(stdout, "berthd", version)
		return 0
	case "help", "-h", "--help":
		_, _ = fmt.Fprint(stdout, usage)
		return 0
	}
	_, _ = fmt.Fprintf(stderr, "berthd: %q is not a command\n\n%s", args[0], usage)
	return 2
}

func server(args []string, stderr io.Writer) int {
	cfg, level, err := serverFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "berthd server: %v\n", err)
		return 2
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := daemon.Run(ctx, cfg, logger); err != nil {
		_, _ = fmt.Fprintf(stderr, "berthd server: %v\n", err)
		return 1
	}
	return 0
}

func serverFlags(args []string, stderr io.Writer) (daemon.Config, slog.Level, error) {
	cfg := daemon.Defaults()
	cfg.Version, cfg.Revision = version, revision
	var level slog.Level
	f := flag.NewFlagSet("berthd server", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&cfg.DataDir, "data-dir", cfg.DataDir, "`directory` of the store, the routes and the logs; it is not that of a berthd backend")
	f.StringVar(&cfg.Socket, "socket", cfg.Socket, "`path` of the API's Unix socket; its folder has to exist, but for the default one")
	f.StringVar(&cfg.DockerHost, "docker", "", "`address` of the Docker engine, unix:///var/run/docker.sock when empty")
	f.StringVar(&cfg.NodeBinary, "node-binary", "", "`path` of berth-node, looked for beside berthd when empty")
	f.BoolVar(&cfg.ExternalIngress, "external-ingress", false, "the data plane is run by something else, on DATA-DIR/ingress/control.sock; never start one")
	f.StringVar(&cfg.NetworkPrefix, "network-prefix", "", "first `part` of network and volume names, berth when empty")
	f.IntVar(&cfg.Workers, "workers", cfg.Workers, "`number` of services worked on at once")
	f.Var((*flaglist.List)(&cfg.IngressHTTP), "ingress-http", "`addresses` the data plane serves HTTP on, separated by commas")
	pool := f.String("network-pool", cfg.Pool.String(), "IPv4 `prefix` that app networks are cut from, a /24 each")
	f.Var((*flaglist.List)(&cfg.AllowHostPaths), "allow-host-paths", "host `paths` that apps may mount, separated by commas")
	f.StringVar(&cfg.Machines, "machines", "", "`file` that says which machines there shall be, machines.jsonc; none when empty")
	f.TextVar(&level, "log-level", slog.LevelInfo, "debug, info, warn or error")
	if err := f.Parse(args); err != nil {
		return cfg, level, err
	}
	if f.NArg() > 0 {
		return cfg, level, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	var err error
	if cfg.Pool, err = netip.ParsePrefix(*pool); err != nil {
		return cfg, level, fmt.Errorf("--network-pool: %q is not a prefix such as 10.210.0.0/16", *pool)
	}
	return cfg, level, nil
}

func backend(args []string, stderr io.Writer) int {
	opts, level, err := backendFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "berthd backend: %v\n", err)
		return 2
	}
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := backendd.Run(ctx, opts, logger); err != nil {
		_, _ = fmt.Fprintf(stderr, "berthd backend: %v\n", err)
		return 1
	}
	return 0
}

func backendFlags(args []string, stderr io.Writer) (backendd.Options, slog.Level, error) {
	opts := backendd.Options{Version: version}
	var level slog.Level
	f := flag.NewFlagSet("berthd backend", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&opts.ConfigFile, "config", "/etc/berth/backend.yaml", "`file` of settings")
	f.StringVar(&opts.DataDir, "data-dir", "/var/lib/berth-backend", "`directory` of the store; it belongs to this backend alone, and is not that of a berthd server")
	f.StringVar(&opts.Socket, "socket", "", "`path` of the Unix socket that berth backend asks, in a folder that exists, DATA-DIR/backend.sock when empty")
	f.BoolVar(&opts.FirewallOnly, "firewall-only", false, "set up the firewall of leases as the file says, and end; it needs the data directory for itself, so end the backend before, which keeps its firewall by itself")
	f.TextVar(&level, "log-level", slog.LevelInfo, "debug, info, warn or error")
	if err := f.Parse(args); err != nil {
		return opts, level, err
	}
	if f.NArg() > 0 {
		return opts, level, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return opts, level, nil
}
