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

// joinOptions are those of `berth-node join`.
type joinOptions struct {
	agentprocess.Options
	token string
	run   bool
	level slog.Level
}

func join(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := joinFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "berth-node join: %v\n", err)
		return exitUsage
	}
	if o.BootID, err = process.BootID(); err == nil {
		err = joinHost(ctx, o, stdout, stderr)
	}
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "berth-node join: %v\n", err)
		return exitError
	}
	return exitOK
}

// joinHost joins, says what is next, and with run is the agent.
func joinHost(ctx context.Context, o joinOptions, stdout, stderr io.Writer) error {
	joined, err := agentconfig.Join(ctx, agentconfig.Config{Dir: o.Dir, EngineSocket: o.Engine, Version: o.Build, BootID: o.BootID}, o.token)
	if err != nil {
		return err
	}
	how := "is registered"
	if !joined.Registered {
		how = fmt.Sprintf("is not registered yet (%v); its agent goes on with that", joined.Why)
	}
	_, _ = fmt.Fprintf(stdout, "This host is %s, and %s. Its identity is in %s.\n", joined.InstanceID, how, joined.Dir)
	if o.run {
		return agentprocess.Run(ctx, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: o.level})), o.Options)
	}
	_, _ = fmt.Fprintf(stdout, "Start its agent, which has to run for as long as the host is a node:\n\n  %s\n", startAgent(o))
	return nil
}

// startAgent is the command that starts the agent: of the unit, which is for the folder
// and the socket that nobody changed, or of the program itself.
func startAgent(o joinOptions) string {
	if o.Dir == agentconfig.DefaultDir && o.Engine == agentconfig.DefaultEngineSocket {
		return "systemctl enable --now berth-agent"
	}
	return fmt.Sprintf("berth-node agent --dir %s --docker %s", oneWord(o.Dir), oneWord(socketScheme+o.Engine))
}

// oneWord is a text as a shell reads it as one word.
func oneWord(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/:._-", r))
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func joinFlags(args []string, stderr io.Writer) (joinOptions, error) {
	o := joinOptions{Options: agentprocess.Options{Build: build()}}
	f := flag.NewFlagSet("berth-node join", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.StringVar(&o.Dir, "dir", agentconfig.DefaultDir, "`directory` that the machine's identity is written to")
	engine := f.String("docker", socketScheme+agentconfig.DefaultEngineSocket, "`address` of the engine, a socket of this machine")
	f.BoolVar(&o.run, "run", false, "run the agent once the host has joined")
	f.TextVar(&o.level, "log-level", slog.LevelInfo, "of the agent: debug, info, warn or error")
	f.Usage = func() {
		_, _ = fmt.Fprint(stderr, "Usage: berth-node join TOKEN [flags]\n\nMakes this host a node. `berth node join` prints the whole command.\n\n")
		f.PrintDefaults()
	}
	// The token may stand before the flags, as it does in the command that is printed.
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		o.token, args = args[0], args[1:]
	}
	if err := f.Parse(args); err != nil {
		return o, err
	}
	rest := f.Args()
	if o.token == "" && len(rest) > 0 {
		o.token, rest = rest[0], rest[1:]
	}
	switch {
	case o.token == "":
		return o, errors.New("there is no token; `berth node join --name NAME`, where the control plane is, prints the whole command")
	case len(rest) > 0:
		return o, errors.New("there is more than one argument; a token is one word")
	}
	var local bool
	if o.Engine, local = strings.CutPrefix(*engine, socketScheme); !local || !filepath.IsAbs(o.Engine) {
		return o, fmt.Errorf("--docker: %q is no socket of this machine; it has the form %s%s", *engine, socketScheme, agentconfig.DefaultEngineSocket)
	}
	return o, nil
}
