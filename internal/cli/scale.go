package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) scaleCmd() *cobra.Command {
	var flags changeFlags
	cmd := &cobra.Command{
		Use:   "scale APP SERVICE=N...",
		Short: "Run another number of replicas",
		Long: `Runs more or fewer replicas of services. What takes part in serving stays as it is:
new replicas join once they are ready, and those that go end what they have begun.

The app file is not touched. The next apply of it sets its numbers again.`,
		Example: `  berth scale shop web=5
  berth scale shop/web=5
  berth scale shop web=5 worker=2 --detach`,
		Args:              takes(1, anyNumber),
		ValidArgsFunction: a.completeScale,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, replicas, err := scaleTarget(args)
			if err != nil {
				return err
			}
			c := a.client()
			defer c.Close()
			return a.change(cmd.Context(), c, flags, func(ctx context.Context, s step) (wire.ChangeResult, error) {
				return c.Scale(ctx, name, wire.ScaleRequest{Replicas: replicas, DryRun: s.dryRun, Base: s.base, AllowInterrupt: s.interrupt})
			})
		},
	}
	flags.add(cmd)
	return cmd
}

// scaleTarget reads APP SERVICE=N..., in which the app may stand before each
// service too, and APP alone may then be left out.
func scaleTarget(args []string) (app string, replicas map[string]int, err error) {
	rest := args
	if !strings.Contains(args[0], "=") {
		var service string
		if app, service, err = splitTarget(args[0]); err != nil {
			return "", nil, err
		}
		if service != "" {
			return "", nil, usage(fmt.Sprintf("%q does not say how many", args[0]), fmt.Sprintf("Write %s/%s=N, for example %s/%s=5.", app, service, app, service))
		}
		rest = args[1:]
	}
	if len(rest) == 0 {
		return "", nil, usage("berth scale needs APP SERVICE=N...", fmt.Sprintf("Write `berth scale %s SERVICE=N`; `berth status %s` lists its services.", app, app))
	}
	replicas = map[string]int{}
	for _, arg := range rest {
		of, service, n, err := readReplicas(arg)
		switch {
		case err != nil:
			return "", nil, err
		case of == "" && app == "":
			return "", nil, usage(fmt.Sprintf("%q does not say of which app", arg), fmt.Sprintf("Write APP %s, or APP/%s.", arg, arg))
		case of != "" && app != "" && of != app:
			return "", nil, usage(fmt.Sprintf("%q is of app %s, and %s was named before it", arg, of, app), "Scale one app at a time.")
		}
		if app == "" {
			app = of
		}
		if _, twice := replicas[service]; twice {
			return "", nil, usage(fmt.Sprintf("%s is named twice", service), "Write each service once.")
		}
		replicas[service] = n
	}
	return app, replicas, nil
}

// readReplicas reads SERVICE=N or APP/SERVICE=N.
func readReplicas(arg string) (app, service string, n int, err error) {
	name, number, ok := strings.Cut(arg, "=")
	n, notNumber := strconv.Atoi(number)
	if !ok || name == "" || notNumber != nil {
		return "", "", 0, usage(fmt.Sprintf("%q does not say how many", arg), "Write SERVICE=N, for example web=5.")
	}
	if !strings.Contains(name, "/") {
		return "", name, n, nil
	}
	app, service, err = splitTarget(name)
	return app, service, n, err
}

// completeScale offers apps, or APP/SERVICE= once there is a slash, and then
// SERVICE= of the app that was named.
func (a *app) completeScale(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 && !strings.Contains(typed, "/") {
		return a.completeApps(cmd, args, typed)
	}
	var names []string
	if len(args) == 0 {
		names, _ = a.completeServices(cmd, args, typed)
	} else {
		app, _, _ := strings.Cut(args[0], "/")
		named := []string{app}
		for _, arg := range args {
			service, _, _ := strings.Cut(arg, "=")
			named = append(named, strings.TrimPrefix(service, app+"/"))
		}
		names, _ = a.completeServicesOf(cmd, named, typed)
	}
	for i := range names {
		names[i] += "="
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

var _ completion = (*app)(nil).completeScale
