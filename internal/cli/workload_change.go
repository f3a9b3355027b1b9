package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) workloadDeployCmd() *cobra.Command {
	var flags workloadFlags
	var strategy, notes string
	cmd := &cobra.Command{
		Use:   "deploy NAME SERVICE=IMAGE...",
		Short: "Bring other images of services",
		Long: `Brings a release with other images; everything else stays as it is. The workload
file is not touched: the next apply of it brings the images that it names.

Strategies: blue-green, rolling, recreate; without one the provider chooses.`,
		Example: `  berth workload deploy shop web=registry.example/shop/web:1.5
  berth workload deploy shop web=shop/web:2 cache=redis:8 --strategy rolling`,
		Args:              takes(2, anyNumber),
		ValidArgsFunction: a.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := workloadTarget(cmd, args[0])
			if err != nil {
				return err
			}
			images, err := readImages(args[1:])
			if err != nil {
				return err
			}
			c := a.client()
			defer c.Close()
			return a.changeWorkload(cmd.Context(), c, flags, func(ctx context.Context) (wire.WorkloadChange, error) {
				return c.DeployWorkload(ctx, name, wire.WorkloadDeployRequest{Images: images, Strategy: strategy, Notes: notes, DryRun: flags.dryRun})
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&strategy, "strategy", "", "how the new release takes over")
	cmd.Flags().StringVar(&notes, "notes", "", "a text to keep with the release")
	_ = cmd.RegisterFlagCompletionFunc("strategy", cobra.FixedCompletions([]string{"blue-green", "rolling", "recreate"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// readImages reads SERVICE=IMAGE arguments.
func readImages(args []string) (map[string]string, error) {
	out := map[string]string{}
	for _, arg := range args {
		service, image, ok := strings.Cut(arg, "=")
		if !ok || service == "" || image == "" {
			return nil, usage(fmt.Sprintf("%q does not name an image", arg), "Write SERVICE=IMAGE, for example web=shop/web:1.5.")
		}
		if _, twice := out[service]; twice {
			return nil, usage(fmt.Sprintf("%s is named twice", service), "Write each service once.")
		}
		out[service] = image
	}
	return out, nil
}

func (a *app) workloadRollbackCmd() *cobra.Command {
	var flags workloadFlags
	cmd := &cobra.Command{
		Use:   "rollback NAME [RELEASE]",
		Short: "Return to a release that served before",
		Long: `Brings back all of a release: images, variables, sizes, config files, and the values
that secrets had. Without one, that is the release that served before the present
one; "berth workload releases" lists them.

The workload file is not touched: the next apply of it makes the workload what it
says.`,
		Example: `  berth workload rollback shop
  berth workload rollback shop v3`,
		Args:              takes(1, 2),
		ValidArgsFunction: a.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := workloadTarget(cmd, args[0])
			if err != nil {
				return err
			}
			req := wire.WorkloadRollbackRequest{DryRun: flags.dryRun}
			if len(args) == 2 {
				req.Release = args[1]
			}
			c := a.client()
			defer c.Close()
			return a.changeWorkload(cmd.Context(), c, flags, func(ctx context.Context) (wire.WorkloadChange, error) {
				return c.RollBackWorkload(ctx, name, req)
			})
		},
	}
	flags.add(cmd)
	return cmd
}

func (a *app) workloadCancelCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel NAME",
		Short: "Give up the rollout that is under way",
		Long: `Gives up the rollout that is under way: the release that served before it comes
back. Of a first release there is none, and the workload stays as it is until the
next apply.`,
		Example:           `  berth workload cancel shop`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeWorkloads,
		RunE: a.onWorkload(func(ctx context.Context, c *client.Client, name string) error {
			r, err := c.CancelWorkload(ctx, name)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(r)
			}
			a.printf("Rollout %d is given up. Follow it with `berth workload status %s -f`.\n", r.Number, name)
			return nil
		}),
	}
}
