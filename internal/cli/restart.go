package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) restartCmd() *cobra.Command {
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "restart APP [SERVICE...]",
		Short: "Replace the containers of services by new ones",
		Long: `Rolls every replica of the services, or of all services of the app: new containers
of the same spec take over once they are ready, and get the newest values of their
secrets. No request is dropped. The images stay those that run, though a tag leads
to another one by now: "berth apply --refresh" takes that up.

A service of which two releases cannot run at once hands over: its old container
stops before the new one starts. That is asked about on a terminal; elsewhere it is
refused with exit code 3 unless --yes is given.`,
		Example: `  berth restart shop
  berth restart shop web worker
  berth restart shop db --yes`,
		Args:              takes(1, anyNumber),
		ValidArgsFunction: a.completeServicesOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, services, err := servicesTarget(args)
			if err != nil {
				return err
			}
			c := a.client()
			defer c.Close()
			return a.restart(cmd.Context(), c, flags, name, services)
		},
	}
	flags.add(cmd)
	return cmd
}

func (a *app) restart(ctx context.Context, c *client.Client, flags changeFlags, name string, services []string) error {
	return a.change(ctx, c, flags, func(ctx context.Context, s step) (wire.ChangeResult, error) {
		return c.Restart(ctx, name, wire.RestartRequest{Services: services, DryRun: s.dryRun, Base: s.base, AllowInterrupt: s.interrupt})
	})
}

// servicesTarget reads APP [SERVICE...], or APP/SERVICE.
func servicesTarget(args []string) (app string, services []string, err error) {
	app, service, err := splitTarget(args[0])
	if err != nil {
		return "", nil, err
	}
	if service != "" {
		services = append(services, service)
	}
	for _, s := range args[1:] {
		if strings.Contains(s, "/") {
			return "", nil, usage(fmt.Sprintf("%q is not the name of a service", s), "Write APP SERVICE..., for example shop web worker.")
		}
		services = append(services, s)
	}
	return app, services, nil
}
