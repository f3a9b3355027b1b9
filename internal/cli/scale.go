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
  berth scale shop web=5 worker=2 --detach`,
		Args:              takes(2, anyNumber),
		ValidArgsFunction: a.completeServicesOf,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := appTarget(cmd, args[0])
			if err != nil {
				return err
			}
			replicas, err := readReplicas(args[1:])
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

// readReplicas reads SERVICE=N arguments.
func readReplicas(args []string) (map[string]int, error) {
	out := map[string]int{}
	for _, arg := range args {
		name, number, ok := strings.Cut(arg, "=")
		n, err := strconv.Atoi(number)
		if !ok || name == "" || err != nil {
			return nil, usage(fmt.Sprintf("%q does not say how many", arg), "Write SERVICE=N, for example web=5.")
		}
		if _, twice := out[name]; twice {
			return nil, usage(fmt.Sprintf("%s is named twice", name), "Write each service once.")
		}
		out[name] = n
	}
	return out, nil
}
