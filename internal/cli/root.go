package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
)

// app is one run of the command line.
type app struct {
	env      Env
	socket   string
	backend  string // the socket of a backend
	format   string // "text" or "json"
	out, err palette
	ran      bool // a command began; before that every error is one of usage
}

// Run runs one command line and returns its exit code. When ctx is done, what
// it waits for is left alone and Run returns soon.
func Run(ctx context.Context, args []string, env Env) int {
	if env.Now == nil {
		env.Now = time.Now
	}
	a := &app{env: env, format: "text"}
	a.out.on = env.StdoutTTY && !env.NoColor
	a.err.on = a.out.on
	root := a.root()
	root.SetArgs(args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.ran {
		err = usage(err.Error(), fmt.Sprintf("`%s --help` says how it is used.", cmd.CommandPath()))
	}
	if err != nil {
		a.report(err)
	}
	if _, own := cmd.Annotations[ownFailures]; own {
		return execCode(err)
	}
	return exitCode(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "berth",
		Short: "Keep services running on your own machines",
		Long: `Berth keeps the services of an app.yaml running on your own machines and changes
them without dropping a request.

Write an app.yaml, run "berth apply", and look at it with "berth status".`,
		Example: `  berth apply                # make the app what ./app.yaml says
  berth status shop          # how it is
  berth logs shop/web -f     # what it prints
  berth rollback shop/web    # back to the release before`,
		SilenceUsage:  true,
		SilenceErrors: true,
		// How far a word may be from a command to be taken for it.
		SuggestionsMinimumDistance: 2,
		Args:                       knownCommand,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if a.format != "text" && a.format != "json" {
				return fmt.Errorf("-o %s is not a format: write text or json", a.format)
			}
			a.ran = true
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	socket := a.env.Socket
	if socket == "" {
		socket = client.DefaultSocket
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.socket, "socket", socket, "Unix socket of the daemon; BERTH_SOCKET sets it too")
	flags.StringVarP(&a.format, "output", "o", "text", "how to print: text, or json (see berth help json)")
	flags.Lookup("socket").DefValue = client.DefaultSocket
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(a.applyCmd(), a.statusCmd(), a.psCmd(), a.logsCmd(), a.execCmd(), a.restartCmd(), a.scaleCmd(),
		a.releasesCmd(), a.rollbackCmd(), a.secretCmd(), a.deleteCmd(), a.workloadCmd(), a.nodeCmd(), a.machineCmd(), a.backendCmd(), a.doctorCmd(), a.versionCmd(), completionCmd())
	root.AddCommand(
		&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesHelp},
		&cobra.Command{Use: "json", Short: "What -o json prints", Long: jsonHelp},
	)
	root.SetHelpCommand(helpCmd())
	root.SetFlagErrorFunc(badFlag)
	root.Version = a.env.Version
	root.SetVersionTemplate("berth   {{.Version}}\n")
	return root
}

// knownCommand refuses a word that names no command, with those near it.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	what := fmt.Sprintf("there is no command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		what += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return errors.New(what)
}

func (a *app) json() bool { return a.format == "json" }

func (a *app) client() *client.Client { return client.New(a.socket) }

// printf writes to standard output.
func (a *app) printf(format string, args ...any) { fmt.Fprintf(a.env.Stdout, format, args...) }

// printJSON writes one document to standard output.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.env.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// splitTarget reads APP/SERVICE; the service is "" without a slash.
func splitTarget(s string) (app, service string, err error) {
	app, service, slash := strings.Cut(s, "/")
	if app == "" || strings.Contains(service, "/") || slash && service == "" {
		return "", "", usage(fmt.Sprintf("%q names no service", s), "Write APP/SERVICE, for example shop/web.")
	}
	return app, service, nil
}

// serviceTarget is splitTarget where the service is needed.
func serviceTarget(s string) (app, service string, err error) {
	app, service, err = splitTarget(s)
	if err == nil && service == "" {
		err = usage(fmt.Sprintf("%q names an app, not a service", s), fmt.Sprintf("Write %s/SERVICE; `berth status %s` lists its services.", app, app))
	}
	return app, service, err
}

// ago says how long something took or is past, in one or two units.
func ago(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
