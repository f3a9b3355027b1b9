package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

type execFlags struct {
	replica    int
	member     string
	stdin, tty bool
}

func (a *app) execCmd() *cobra.Command {
	var flags execFlags
	cmd := &cobra.Command{
		Use:   "exec APP SERVICE -- COMMAND [ARG...]",
		Short: "Run a command in a container of a service",
		Long: `Runs a command in a container of the release that serves: of the first replica that
does, or of the one named. Its output and error output arrive apart; with -t it gets
a terminal, which has one output for both. There is no shell in between: write one
as the command if the image has one and you need it.

The exit code is the command's own. What keeps it from running ends with 125, a
program that is not in the container with 127, one that cannot be run with 126.
Ctrl-C ends the session with 130, with -t it goes to the command. A command that
does not heed the end of its input and output goes on in the container.`,
		Example: `  berth exec shop web -- /app/migrate --dry-run
  berth exec shop web --replica 1 -it -- sh
  pg_dump old | berth exec shop db -i -- psql`,
		Args:              beforeDash,
		ValidArgsFunction: a.completeServicesOf,
		Annotations:       map[string]string{ownFailures: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.ArgsLenAtDash()
			name, services, err := servicesTarget(args[:at])
			if err != nil {
				return err
			}
			if len(services) != 1 {
				return usage("berth exec needs one service", "Write APP SERVICE -- COMMAND.")
			}
			e := client.Exec{App: name, Service: services[0], Replica: flags.replica, Member: flags.member, Command: args[at:]}
			return a.exec(cmd.Context(), e, flags)
		},
	}
	f := cmd.Flags()
	f.IntVar(&flags.replica, "replica", -1, "index of the replica, from 0 (default: the first that serves)")
	f.StringVar(&flags.member, "member", "", "name of a sidecar (default: the main container)")
	f.BoolVarP(&flags.stdin, "stdin", "i", false, "pass standard input on")
	f.BoolVarP(&flags.tty, "tty", "t", false, "give the command a terminal; standard input must be one")
	return cmd
}

// beforeDash checks what stands before the command.
func beforeDash(cmd *cobra.Command, args []string) error {
	switch at := cmd.ArgsLenAtDash(); {
	case at < 0:
		return fmt.Errorf("the command stands behind --, as in %s shop web -- ls /", cmd.CommandPath())
	case at == 0 || at > 2:
		names, _, _ := strings.Cut(strings.TrimPrefix(cmd.Use, "exec "), " --")
		return fmt.Errorf("%s needs %s before the --", cmd.CommandPath(), names)
	case len(args) == at:
		return fmt.Errorf("%s needs a command behind the --", cmd.CommandPath())
	}
	return nil
}

func (a *app) exec(ctx context.Context, e client.Exec, flags execFlags) error {
	if e.Replica < -1 {
		return usage(fmt.Sprintf("--replica %d is out of bounds", e.Replica), "Replicas are counted from 0.")
	}
	e.TTY, e.Stdout, e.Stderr = flags.tty, a.env.Stdout, a.env.Stderr
	if flags.stdin {
		e.Stdin = a.env.Stdin
	}
	if flags.tty {
		restore, err := a.takeTerminal(ctx, &e, flags.stdin)
		if err != nil {
			return err
		}
		defer restore()
	}
	c := a.client()
	defer c.Close()
	code, err := c.Exec(ctx, e)
	switch {
	case errors.Is(err, context.Canceled):
		return &failure{code: exitInterrupted, what: "interrupted", err: err, quiet: true}
	case err != nil:
		return err
	case code != 0:
		return &failure{code: code, what: fmt.Sprintf("the command ended with %d", code), quiet: true, passed: true}
	}
	return nil
}

// takeTerminal hands the terminal to the command: keys go to it as they are
// pressed, and it learns how large the window is.
func (a *app) takeTerminal(ctx context.Context, e *client.Exec, raw bool) (restore func(), err error) {
	t := a.env.Terminal
	if t == nil || !a.env.StdinTTY {
		return nil, usage("-t needs a terminal, and standard input is none", "Leave -t out.")
	}
	ctx, stop := context.WithCancel(ctx)
	sizes := make(chan client.Size, 1)
	if width, height := t.Size(); width > 0 && height > 0 {
		sizes <- client.Size{Width: width, Height: height}
	}
	e.Sizes = sizes
	changed := t.Changes(ctx)
	go func() {
		for range changed {
			width, height := t.Size()
			select {
			case sizes <- client.Size{Width: width, Height: height}:
			case <-ctx.Done():
				return
			}
		}
	}()
	if !raw {
		return stop, nil
	}
	back, err := t.Raw()
	if err != nil {
		stop()
		return nil, fmt.Errorf("take the terminal: %w", err)
	}
	return func() { stop(); back() }, nil
}

const (
	exitExecFailed  = 125 // of exec: it did not come to run the command
	exitExecRefused = 126
	exitExecMissing = 127

	// ownFailures marks commands whose exit code is that of another program, so
	// that failures of our own have codes apart.
	ownFailures = "berth.own-failures"
)

// execCode is the exit code of exec for an error.
func execCode(err error) int {
	var f *failure
	var p *wire.Problem
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &f) && (f.passed || f.code == exitInterrupted):
		return f.code
	case errors.As(err, &p) && p.Type == wire.ProblemNoCommand:
		return exitExecMissing
	case errors.As(err, &p) && p.Type == wire.ProblemCommandRefused:
		return exitExecRefused
	}
	return exitExecFailed
}
