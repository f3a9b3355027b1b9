package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) rollbackCmd() *cobra.Command {
	var flags changeFlags
	var to string
	cmd := &cobra.Command{
		Use:   "rollback APP/SERVICE",
		Short: "Run an earlier release of a service again",
		Long: `Brings back everything a release was made from: its image by digest, command,
environment, volumes, limits and probes. Replicas, domains and labels stay as they
are. Without --to it is the release that served before; while a new release has
not come up, it is the one that still serves.

The app file is not touched. The next apply makes the app what the file says.`,
		Example: `  berth rollback shop/web
  berth rollback shop/web --to v3`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeServices,
		RunE: func(cmd *cobra.Command, args []string) error {
			appName, service, err := serviceTarget(args[0])
			if err != nil {
				return err
			}
			c := a.client()
			defer c.Close()
			return a.change(cmd.Context(), c, flags, func(ctx context.Context, s step) (wire.ChangeResult, error) {
				return c.Rollback(ctx, appName, wire.RollbackRequest{
					Service: service, Release: to, DryRun: s.dryRun, Base: s.base, AllowInterrupt: s.interrupt,
				})
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&to, "to", "", "release to go back to, such as v3 (default: the one before)")
	_ = cmd.RegisterFlagCompletionFunc("to", a.completeReleases)
	return cmd
}
