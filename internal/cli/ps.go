package cli

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) psCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "ps [APP]",
		Short: "Show the containers of services",
		Long: `Shows the containers of an app, or of all apps, as the engine has them now: which
replica and member each one is, of which release, its state and how often the engine
has restarted it. SERVES is "traffic" for a ready container that requests go to, and
"yes" for others of the release that serves. NODE is shown where there are several;
a container on one that is away is shown as it was last seen there.`,
		Example: `  berth ps
  berth ps shop
  berth ps shop -o json`,
		Args:              takes(0, 1),
		ValidArgsFunction: a.completeApps,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				var err error
				if name, err = appTarget(cmd, args[0]); err != nil {
					return err
				}
			}
			c := a.client()
			defer c.Close()
			list, err := c.Containers(cmd.Context(), name)
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(list)
			}
			a.printContainers(list.Containers, name == "")
			return nil
		},
	}
}

func (a *app) printContainers(containers []wire.Container, apps bool) {
	if len(containers) == 0 {
		a.printf("No containers.\n")
		return
	}
	head := a.header("SERVICE", "REPLICA", "MEMBER", "STATE", "SERVES", "RELEASE", "AGE", "RESTARTS", "ADDRESS", "CONTAINER")
	nodes := slices.ContainsFunc(containers, func(c wire.Container) bool { return c.Node != "" })
	if nodes {
		head = append(head, a.header("NODE")...)
	}
	if apps {
		head = append(a.header("APP"), head...)
	}
	rows := [][]cell{head}
	for _, c := range containers {
		row := []cell{
			{c.Service, a.out.bold}, plain(fmt.Sprint(c.Replica)), plain(member(c)), a.containerState(c), a.serves(c), plain(dash(c.Release)),
			plain(ago(a.env.Now().Sub(c.CreatedAt))), plain(fmt.Sprint(c.Restarts)), plain(dash(c.Address)), {c.Name, a.out.dim},
		}
		if nodes {
			row = append(row, plain(cmp.Or(c.Node, wire.LocalNode)))
		}
		if apps {
			row = append([]cell{{c.App, a.out.bold}}, row...)
		}
		rows = append(rows, row)
	}
	a.printf("%s", table(rows))
}

func member(c wire.Container) string {
	if c.Role == "" {
		return c.Member
	}
	return fmt.Sprintf("%s (%s)", c.Member, c.Role)
}

func (a *app) containerState(c wire.Container) cell {
	switch {
	case c.Away:
		return cell{c.State + " (away)", a.out.yellow}
	case c.State == "running":
		return cell{c.State, a.out.green}
	case c.OOMKilled:
		return cell{c.State + " (out of memory)", a.out.red}
	case c.ExitCode != nil && *c.ExitCode == 0:
		return plain(c.State + " (0)")
	case c.ExitCode != nil:
		return cell{fmt.Sprintf("%s (%d)", c.State, *c.ExitCode), a.out.red}
	}
	return cell{c.State, a.out.yellow}
}

func (a *app) serves(c wire.Container) cell {
	switch {
	case c.Traffic:
		return cell{"traffic", a.out.green}
	case c.Serves:
		return plain("yes")
	}
	return plain("-")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
