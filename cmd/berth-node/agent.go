package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"

	agentconfig "github.com/berth-cloud/berth/instances/agent"
	agentprocess "github.com/berth-cloud/berth/instances/agent/process"
	"github.com/berth-cloud/berth/internal/ingress/process"
)

func agent(ctx context.Context, args []string, stderr io.Writer) int {
	o, level, err := agentFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "berth-node agent: %v\n", err)
		return exitUsage
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	if o.BootID, err = process.BootID(); err == nil {
		err = agentprocess.Run(ctx, log, o)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "berth-node agent: %v\n", err)
		return exitError
	}
	return exitOK
}

func agentFlags(args []string, stderr io.Writer) (agentprocess.Options, slog.Level, error) {
	o := agentprocess.Options{Build: build()}
	var level slog.Level
	f := flag.NewFlagSet("berth-node agent", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.Dir, "dir", agentconfig.DefaultDir, "`directory` of the machine's identity, with bootstrap.json and ca.crt in it")
	engine := f.String("docker", socketScheme+agentconfig.DefaultEngineSocket, "`address` of the engine, a socket of this machine")
	f.TextVar(&level, "log-level", slog.LevelInfo, "debug, info, warn or error")
	if err := f.Parse(args); err != nil {
		return o, level, err
	}
	if f.NArg() > 0 {
		return o, level, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	var local bool
	if o.Engine, local = strings.CutPrefix(*engine, socketScheme); !local || !filepath.IsAbs(o.Engine) {
		return o, level, fmt.Errorf("--docker: %q is no socket of this machine; it has the form %s%s", *engine, socketScheme, agentconfig.DefaultEngineSocket)
	}
	return o, level, nil
}

// socketScheme is what the address of a socket begins with, here as for berthd.
const socketScheme = "unix://"
