package cli

import (
	"context"
	"time"

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
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeApps,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := appTarget(cmd, args[0])
			if err != nil {
				return err
			}
			c := a.client()
			defer c.Close()
			err = a.change(cmd.Context(), c, flags, func(ctx context.Context, s step) (wire.ChangeResult, error) {
				return c.Delete(ctx, name, client.DeleteOptions{DryRun: s.dryRun, AllowRemove: s.remove})
			})
			if err == nil && !flags.dryRun && !flags.detach {
				awaitGone(cmd.Context(), c, name)
			}
			return err
		},
	}
	flags.add(cmd)
	return cmd
}

const (
	goneWithin = 5 * time.Second
	goneEvery  = 50 * time.Millisecond
)

// awaitGone returns once the app is no longer listed. Its services are gone by
// then and only its name is left, so nothing depends on it but what the next
// command sees.
func awaitGone(ctx context.Context, c *client.Client, name string) {
	ctx, cancel := context.WithTimeout(ctx, goneWithin)
	defer cancel()
	again := time.NewTicker(goneEvery)
	defer again.Stop()
	for {
		if _, err := c.App(ctx, name); err != nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}
