package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// maxBackendTail is what a backend gives at most, in lines of one container.
const maxBackendTail = 10000

func (a *app) backendLogsCmd() *cobra.Command {
	var service string
	var tail int
	cmd := &cobra.Command{
		Use:   "logs LEASE",
		Short: "Show what the containers of a lease print",
		Long: `Shows the last lines of each container of a lease, one container after another, each
line behind its service and the container's index. Of a lease that failed it is what
its containers printed last, for a week.`,
		Example: `  berth backend logs 018f3c1e
  berth backend logs 018f3c1e --service web --tail 20`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeLeases,
		RunE: a.onLease(func(ctx context.Context, b *client.Backend, lease string) error {
			if tail < 1 || tail > maxBackendTail {
				return usage(fmt.Sprintf("--tail %d is out of bounds", tail), fmt.Sprintf("Write a number from 1 to %d.", maxBackendTail))
			}
			logs, err := b.Logs(ctx, lease, tail)
			if client.IsProblem(err, wire.ProblemNotFound) { // the lease was found
				return &failure{
					code: exitNotFound, what: fmt.Sprintf("nothing of lease %s runs, and none of its logs are kept", lease),
					hint: fmt.Sprintf("`berth backend show %s` says what is left of it.", lease), err: err,
				}
			}
			if err != nil {
				return err
			}
			if service != "" {
				some := maps.Clone(logs)
				maps.DeleteFunc(some, func(container, _ string) bool { name, _ := containerOf(container); return name != service })
				if len(some) == 0 {
					return noService(lease, service, logs)
				}
				logs = some
			}
			if a.json() {
				return a.printJSON(logs)
			}
			return a.printBackendLogs(logs)
		}),
	}
	cmd.Flags().StringVar(&service, "service", "", "only the containers of this service")
	cmd.Flags().IntVar(&tail, "tail", defaultTail, "lines of each container, at most 10000")
	a.completeFlag(cmd, "service", cobra.NoFileCompletions)
	return cmd
}

func noService(lease, service string, logs wire.BackendLogs) error {
	var names []string
	for container := range logs {
		name, _ := containerOf(container)
		names = append(names, name)
	}
	slices.Sort(names)
	hint := "It has no containers."
	if names = slices.Compact(names); len(names) > 0 {
		hint = "It has " + strings.Join(names, ", ") + "."
	}
	return &failure{code: exitNotFound, what: fmt.Sprintf("lease %s has no containers of a service %q", lease, service), hint: hint}
}

// containerOf reads "service/index".
func containerOf(name string) (service string, index int) {
	service, number, _ := strings.Cut(name, "/")
	index, err := strconv.Atoi(number)
	if err != nil {
		index = -1
	}
	return service, index
}

func (a *app) printBackendLogs(logs wire.BackendLogs) error {
	order := slices.SortedFunc(maps.Keys(logs), func(x, y string) int {
		xs, xi := containerOf(x)
		ys, yi := containerOf(y)
		return cmp.Or(strings.Compare(xs, ys), cmp.Compare(xi, yi), strings.Compare(x, y))
	})
	for _, container := range order {
		service, index := containerOf(container)
		before := a.out.cyan(fmt.Sprintf("%s.%d |", inert(service), index)) + " "
		for text := range strings.Lines(logs[container]) {
			text = strings.TrimSuffix(text, "\n")
			if a.env.StdoutTTY {
				text = printable(text)
			}
			if _, err := fmt.Fprintf(a.env.Stdout, "%s%s\n", before, text); err != nil {
				return err
			}
		}
	}
	return nil
}
