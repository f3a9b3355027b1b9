package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) secretCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret COMMAND",
		Short: "Keep values that services need and nobody shall see",
		Long: `Keeps secrets of an app, which its app file names: a service gets the value when its
container is made. A workload file names them as APP/NAME, whatever the workload is
called. They are kept encrypted, with a number for each new value, and no command
shows them. They stay when the app is deleted.`,
		SuggestionsMinimumDistance: 2,
		Args:                       knownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.secretSetCmd(), a.secretListCmd(), a.secretDeleteCmd())
	return cmd
}

func (a *app) secretSetCmd() *cobra.Command {
	var from string
	var restart bool
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "set APP NAME",
		Short: "Give a secret a value",
		Long: `Reads the value from a file, from standard input, or asks for it on a terminal
without showing it; never from the command line, where others could read it. From a
file or standard input it is taken byte for byte.

Containers that run keep the value they have, until a restart or the next apply.
With --restart the services that use the secret are restarted at once, as "berth
restart" does. A workload takes the value with the next apply of its file alone.`,
		Example: `  berth secret set shop DATABASE_PASSWORD
  berth secret set shop TLS_KEY --from-file key.pem --restart
  printf '%s' "$TOKEN" | berth secret set shop TOKEN`,
		Args:              takes(2, 2),
		ValidArgsFunction: a.completeSecrets,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := appTarget(cmd, args[0])
			if err != nil {
				return err
			}
			value, err := a.readSecret(from, args[1])
			if err != nil {
				return err
			}
			c := a.client()
			defer c.Close()
			set, err := c.SetSecret(cmd.Context(), name, args[1], value)
			if err != nil {
				return err
			}
			if !a.json() {
				a.printSet(name, set, strings.HasSuffix(string(value), "\n"), restart)
			}
			if restart && len(set.UsedBy) > 0 {
				return a.restart(cmd.Context(), c, flags, name, set.UsedBy)
			}
			if a.json() {
				return a.printJSON(set)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from-file", "", "read the value from a file; - reads standard input")
	f.BoolVar(&restart, "restart", false, "restart the services that use it")
	f.BoolVarP(&flags.yes, "yes", "y", false, "confirm that the restart interrupts a service")
	f.BoolVar(&flags.detach, "detach", false, "do not wait for the restart")
	return cmd
}

func (a *app) printSet(app string, set wire.Secret, newline, restart bool) {
	a.printf("%s %s of %s is at version %d.\n", a.out.green("Set:"), a.out.bold(set.Name), app, set.Version)
	if newline {
		a.printf("%s\n", a.out.dim("note: the value ends with a line end; printf '%s' writes none"))
	}
	switch {
	case len(set.Users()) == 0:
		a.printf("No service uses it. Name it in the app file, then apply that.\n")
	case len(set.UsedBy) > 0 && !restart:
		a.printf("Used by %s; new containers get it, with the next apply or by `berth restart %s %s`.\n",
			strings.Join(set.UsedBy, ", "), app, strings.Join(set.UsedBy, " "))
	}
	if len(set.UsedByWorkloads) > 0 {
		a.printf("Used by workload %s; it gets it with the next `berth workload apply` of its file.\n",
			strings.Join(set.UsedByWorkloads, ", workload "))
	}
}

// readSecret reads the value of a secret from where it cannot be seen.
func (a *app) readSecret(from, name string) ([]byte, error) {
	var value []byte
	var err error
	switch {
	case from != "" && from != "-":
		f, openErr := os.Open(from)
		if openErr != nil {
			return nil, usage(fmt.Sprintf("cannot open %s: %v", from, openErr), "Name a file that can be read with --from-file.")
		}
		defer f.Close()
		value, err = io.ReadAll(io.LimitReader(f, wire.MaxSecretBytes+1))
	case from == "" && a.env.StdinTTY && a.env.Terminal != nil:
		fmt.Fprintf(a.env.Stderr, "Value of %s (not shown): ", name)
		value, err = a.env.Terminal.Hidden()
		fmt.Fprintln(a.env.Stderr)
	default:
		value, err = io.ReadAll(io.LimitReader(a.env.Stdin, wire.MaxSecretBytes+1))
	}
	switch {
	case err != nil:
		return nil, usage(fmt.Sprintf("cannot read the value: %v", err), "Pass it on standard input, or name a file with --from-file.")
	case len(value) == 0:
		return nil, usage("the value is empty", "Pass it on standard input, or name a file with --from-file.")
	case len(value) > wire.MaxSecretBytes:
		return nil, usage(fmt.Sprintf("the value has more than %d bytes", wire.MaxSecretBytes), "Put what is so large into a volume.")
	}
	return value, nil
}

func (a *app) secretListCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "list APP",
		Short: "List the secrets of an app, without their values",
		Long: `Lists the secrets that an app has and those that its services or workloads name,
with the number of the newest value. One that is needed and not set keeps new
containers from starting. APP may be a name that workload files alone use, in keys
such as shop/TOKEN.`,
		Example:           `  berth secret list shop`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeApps,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := appTarget(cmd, args[0])
			if err != nil {
				return err
			}
			c := a.client()
			defer c.Close()
			list, err := c.Secrets(cmd.Context(), name)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(list)
			}
			a.printSecrets(list.Secrets)
			return nil
		},
	}
}

func (a *app) printSecrets(secrets []wire.Secret) {
	if len(secrets) == 0 {
		a.printf("No secrets. Set one with `berth secret set APP NAME`.\n")
		return
	}
	rows := [][]cell{a.header("NAME", "VERSION", "AGE", "USED BY")}
	for _, s := range secrets {
		number, age := plain("not set"), plain("-")
		switch {
		case s.Set:
			number, age = plain(fmt.Sprint(s.Version)), plain(ago(a.env.Now().Sub(s.UpdatedAt)))
		case s.Required:
			number.paint = a.out.red
		}
		rows = append(rows, []cell{{s.Name, a.out.bold}, number, age, plain(strings.Join(s.Users(), ", "))})
	}
	a.printf("%s", table(rows))
}

func (a *app) secretDeleteCmd() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "delete APP NAME",
		Short: "Forget a secret",
		Long: `Forgets a secret and every value it had. While the app as it was applied last or a
workload needs it, this is refused with exit code 3 unless --force is given:
containers that run keep the value, and none that needs it could be made.`,
		Example: `  berth secret delete shop OLD_TOKEN
  berth secret delete shop TOKEN --force`,
		Args:              takes(2, 2),
		ValidArgsFunction: a.completeSecrets,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := appTarget(cmd, args[0])
			if err != nil {
				return err
			}
			c := a.client()
			defer c.Close()
			left, err := a.deleteSecret(cmd.Context(), c, name, args[1], force)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(left)
			}
			a.printf("%s %s of %s\n", a.out.green("Deleted:"), a.out.bold(left.Name), name)
			if left.Required {
				a.printf("%s\n", a.out.yellow("Still needed by "+strings.Join(left.NeededBy, ", ")+": no new container of it can start until it is set again."))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "forget it though a service or a workload needs it")
	return cmd
}

func (a *app) deleteSecret(ctx context.Context, c *client.Client, app, name string, force bool) (wire.Secret, error) {
	left, err := c.DeleteSecret(ctx, app, name, force)
	var p *wire.Problem
	if errors.As(err, &p) && p.Type == wire.ProblemNeedsConfirmation {
		return left, &failure{code: exitConfirm, what: p.Detail, err: err,
			hint: "Nothing was changed. Take it out of the file that names it and apply that, or repeat it with --force."}
	}
	return left, err
}
