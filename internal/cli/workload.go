package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
)

func (a *app) workloadCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workload COMMAND",
		Short: "Run workloads on providers",
		Long: `Runs workloads: groups of containers of one shape, written in a workload file and
kept running by a provider such as docker. Berth keeps their releases, brings each
new one without a gap, and returns to the one before when it does not become ready.

An app (berth apply) is what Berth itself keeps and routes requests to; a workload
is what runs on whatever a provider drives.`,
		Example: `  berth workload apply -f shop.yaml      # make the workload what the file says
  berth workload status shop -f          # follow what is under way
  berth workload logs shop/web -f
  berth workload deploy shop web=registry.example/shop/web:1.5
  berth workload rollback shop
  berth workload delete shop --yes`,
		SuggestionsMinimumDistance: 2,
		Args:                       knownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.workloadApplyCmd(), a.workloadListCmd(), a.workloadStatusCmd(), a.workloadLogsCmd(), a.workloadExecCmd(),
		a.workloadDeployCmd(), a.workloadRollbackCmd(), a.workloadCancelCmd(), a.workloadReleasesCmd(), a.workloadScaleCmd(),
		a.workloadStartCmd(), a.workloadStopCmd(), a.workloadRestartCmd(), a.workloadDeleteCmd(), a.workloadProvidersCmd())
	return cmd
}

// workloadTarget refuses NAME/SERVICE where a workload alone is meant.
func workloadTarget(cmd *cobra.Command, s string) (string, error) {
	name, _, slash := strings.Cut(s, "/")
	if name == "" {
		return "", usage(fmt.Sprintf("%q names no workload", s), "`berth workload list` lists those there are.")
	}
	if slash {
		return "", usage(fmt.Sprintf("%q names a service, not a workload", s), fmt.Sprintf("Write `%s %s`.", cmd.CommandPath(), name))
	}
	return s, nil
}

// onWorkload is a command on one workload that is named alone.
func (a *app) onWorkload(do func(ctx context.Context, c *client.Client, name string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		name, err := workloadTarget(cmd, args[0])
		if err != nil {
			return err
		}
		c := a.client()
		defer c.Close()
		return do(cmd.Context(), c, name)
	}
}

// completeWorkloads offers the names of workloads.
func (a *app) completeWorkloads(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completeFirst(cmd, args, func(ctx context.Context, c *client.Client) ([]string, error) {
		list, err := c.Workloads(ctx)
		var names []string
		for _, w := range list.Workloads {
			names = append(names, w.Name)
		}
		return names, err
	})
}
