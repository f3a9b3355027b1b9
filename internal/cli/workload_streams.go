package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) workloadLogsCmd() *cobra.Command {
	var flags logFlags
	var replica int
	cmd := &cobra.Command{
		Use:   "logs NAME[/SERVICE]",
		Short: "Show what a service of a workload prints",
		Long: `Shows the lines of one service, of the main one where none is named, in the order of
time, over all of its replicas and releases. With -f it goes on, also over a deploy.
--tail counts the lines of all of them together.

With -o json each line is one JSON object.`,
		Example: `  berth workload logs shop
  berth workload logs shop/cache -f --replica 0
  berth workload logs shop --since 10m --tail 0`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := a.logQuery(args[0], flags, cmd.Flags().Changed("tail"))
			if err != nil {
				return err
			}
			if replica < -1 {
				return usage(fmt.Sprintf("--replica %d is out of bounds", replica), "Replicas are counted from 0.")
			}
			c := a.client()
			defer c.Close()
			err = c.WorkloadLogs(cmd.Context(), q, replica, func(e wire.LogEntry) error { return a.printLog(e, flags) })
			if flags.follow && errors.Is(err, cmd.Context().Err()) && err != nil {
				return nil // Ctrl-C is how following ends
			}
			return err
		},
	}
	flags.add(cmd)
	cmd.Flags().IntVar(&replica, "replica", -1, "index of one replica, from 0 (default: all of them)")
	return cmd
}

func (a *app) workloadExecCmd() *cobra.Command {
	var flags execFlags
	cmd := &cobra.Command{
		Use:   "exec NAME[/SERVICE] -- COMMAND [ARG...]",
		Short: "Run a command in a container of a workload",
		Long: `Runs a command in a container of one service, of the main one where none is named:
in the first replica that is ready, or in the one named. There is no shell in
between: write one as the command if the image has one and you need it.

Outputs, terminal, Ctrl-C and exit codes are as with "berth exec".`,
		Example: `  berth workload exec shop -- /bin/migrate --dry-run
  berth workload exec shop/cache --replica 1 -it -- sh`,
		Args:              beforeDash,
		ValidArgsFunction: a.completeWorkloads,
		Annotations:       map[string]string{ownFailures: ""},
		RunE: func(cmd *cobra.Command, args []string) error {
			at := cmd.ArgsLenAtDash()
			if at != 1 {
				return usage("berth workload exec needs one workload", "Write NAME[/SERVICE] -- COMMAND.")
			}
			name, service, err := splitTarget(args[0])
			if err != nil {
				return err
			}
			return a.exec(cmd.Context(), client.Exec{Workload: name, Service: service, Replica: flags.replica, Command: args[at:]}, flags)
		},
	}
	f := cmd.Flags()
	f.IntVar(&flags.replica, "replica", -1, "index of the replica, from 0 (default: the first that is ready)")
	f.BoolVarP(&flags.stdin, "stdin", "i", false, "pass standard input on")
	f.BoolVarP(&flags.tty, "tty", "t", false, "give the command a terminal; standard input must be one")
	return cmd
}
