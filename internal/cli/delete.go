package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) deleteCmd() *cobra.Command {
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "delete APP",
		Short: "Remove an app; its volumes stay",
		Long: `Removes all services of an app and their containers. Volumes are kept and named;
an app of the same name finds them again.`,
		Example: `  berth delete shop
  berth delete shop --yes --detach`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeApps,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.client()
			defer c.Close()
			return a.change(cmd.Context(), c, flags, func(ctx context.Context, s step) (wire.ChangeResult, error) {
				return c.Delete(ctx, args[0], client.DeleteOptions{DryRun: s.dryRun, AllowRemove: s.remove})
			})
		},
	}
	flags.add(cmd)
	return cmd
}
