package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// machineStatuses are those that a machine may have, in the order of its life.
var machineStatuses = []string{"asked", "refused", "pending", "starting", "ready", "silent", "draining", "deleting", "deleted"}

func (a *app) machineListCmd() *cobra.Command {
	var statuses nameList
	var tenant, group string
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the machines",
		Long: `Lists the machines there are, one a line and the oldest first: whose each is, its
status, whether its agent is connected, its address, and why it is not ready. A *
marks one on demand. Those that were deleted lately are in it with --all.

  asked      somebody wants it               refused   and it will not be made
  pending    the provider was told           starting  it has not registered yet
  ready      registered and connected        silent    registered, not connected
  draining   what runs on it moves           deleting  it is being removed`,
		Example: `  berth machine list
  berth machine list --group web --status silent,draining
  berth machine list --all -o json`,
		Args: takes(0, 0),
		RunE: a.onDaemon(func(ctx context.Context, c *client.Client, _ []string) error {
			for _, s := range statuses {
				if !slices.Contains(machineStatuses, s) {
					return usage(fmt.Sprintf("%q is no status of a machine", s), "Write one or more of "+strings.Join(machineStatuses, ", ")+".")
				}
			}
			list, err := c.Machines(ctx, all || slices.Contains(statuses, "deleted"))
			if err != nil {
				return err
			}
			there := len(list.Machines)
			list.Machines = slices.DeleteFunc(list.Machines, func(m wire.Machine) bool {
				return len(statuses) > 0 && !slices.Contains(statuses, m.Status) || tenant != "" && m.Tenant != tenant || group != "" && m.Group != group
			})
			switch {
			case a.json():
				return a.printJSON(list)
			case there == 0:
				a.printf("No machines. `berth machine groups` says how many there shall be.\n")
			case len(list.Machines) == 0:
				a.printf("None of the %d machines is as asked for.\n", there)
			default:
				a.printMachines(list.Machines)
			}
			return nil
		}),
	}
	cmd.Flags().Var(&statuses, "status", "only machines with this status; may be repeated (default: all)")
	cmd.Flags().StringVar(&tenant, "tenant", "", "only machines of this tenant")
	cmd.Flags().StringVar(&group, "group", "", "only machines of groups of this name")
	cmd.Flags().BoolVar(&all, "all", false, "also those that were deleted lately")
	a.completeFlag(cmd, "status", cobra.FixedCompletions(machineStatuses, cobra.ShellCompDirectiveNoFileComp))
	a.completeFlag(cmd, "tenant", cobra.NoFileCompletions)
	a.completeFlag(cmd, "group", a.completeMachineGroups)
	return cmd
}

func (a *app) printMachines(machines []wire.Machine) {
	rows := [][]cell{a.header("MACHINE", "GROUP", "STATUS", "ONLINE", "ADDRESS", "AGE", "WHY")}
	for i := range machines {
		m := &machines[i]
		group := inert(m.Tenant + "/" + m.Group)
		if m.OnDemand {
			group += " *"
		}
		rows = append(rows, []cell{
			{inert(m.ID), a.out.bold}, plain(group), a.machineStatus(m.Status), a.onlineCell(m), plain(dash(inert(addressOf(m)))),
			plain(ago(a.env.Now().Sub(m.CreatedAt))), plain(shorten(inert(m.Reason), 80)),
		})
	}
	a.printf("%s", table(rows))
}

// machineStatus is the status in the colour of how bad it is.
func (a *app) machineStatus(status string) cell {
	switch status {
	case "ready":
		return cell{status, a.out.green}
	case "silent", "refused":
		return cell{status, a.out.red}
	case "deleted":
		return cell{status, a.out.dim}
	}
	return cell{inert(status), a.out.yellow}
}

func (a *app) onlineCell(m *wire.Machine) cell {
	switch {
	case m.Online:
		return cell{"yes", a.out.green}
	case m.Status == "silent":
		return cell{"no", a.out.red}
	}
	return plain("no")
}

func addressOf(m *wire.Machine) string {
	if m.PrivateIPv4 != "" {
		return m.PrivateIPv4
	}
	return m.PrivateIPv6
}

func (a *app) machineGroupsCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "groups",
		Short: "List the groups of machines",
		Long: `Lists the groups of the file of machines, and those that are not in it any more
and still have machines: how many there shall be, how many are ready, and what is
going on. Below a group that is not as it shall be stands why.`,
		Example: `  berth machine groups
  berth machine groups -o json`,
		Args: takes(0, 0),
		RunE: a.onDaemon(func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := c.MachineGroups(ctx)
			if err != nil {
				return err
			}
			switch {
			case a.json():
				return a.printJSON(list)
			case len(list.Groups) == 0:
				a.printf("No groups: the file of machines has none.\n")
			default:
				a.printMachineGroups(list.Groups)
			}
			return nil
		}),
	}
}

func (a *app) printMachineGroups(groups []wire.MachineGroup) {
	rows := [][]cell{a.header("GROUP", "TEMPLATE", "READY", "MACHINES", "ON DEMAND", "STATE")}
	for i := range groups {
		g := &groups[i]
		ready := cell{fmt.Sprintf("%d/%d", g.Machines["ready"], g.Size), a.out.green}
		if g.Machines["ready"] != g.Size {
			ready.paint = a.out.yellow
		}
		rows = append(rows, []cell{
			{inert(g.Tenant + "/" + g.Group), a.out.bold}, plain(dash(inert(g.Template))), ready, plain(machinesOf(g)),
			plain(dashZero(g.OnDemand)), a.groupState(g),
		})
	}
	a.printf("%s", table(rows))
	var troubles [][]cell
	for i := range groups {
		for _, line := range groupTroubles(&groups[i]) {
			troubles = append(troubles, []cell{{inert(groups[i].Tenant + "/" + groups[i].Group), a.out.dim}, plain(inert(line))})
		}
	}
	if len(troubles) > 0 {
		a.printf("\n%s", table(troubles))
	}
}

func dashZero(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

// machinesOf counts machines by their status, in the order of a life.
func machinesOf(g *wire.MachineGroup) string {
	var all []string
	for _, status := range machineStatuses {
		if n := g.Machines[status]; n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, status))
		}
	}
	return dash(strings.Join(all, ", "))
}

// groupState is the word for the first thing that is not as it shall be.
func (a *app) groupState(g *wire.MachineGroup) cell {
	if g.Error != "" {
		return cell{"failing", a.out.red}
	}
	if len(g.Conditions) == 0 {
		return cell{"not looked at yet", a.out.yellow}
	}
	for _, c := range g.Conditions {
		if c.Status != "True" {
			return cell{inert(c.Reason), a.out.yellow}
		}
	}
	if g.Machines["ready"] < g.Size { // for a while: the group gives what is silent its time
		return cell{"not all are connected", a.out.yellow}
	}
	return cell{"as it shall be", a.out.green}
}

// groupTroubles are the sentences about what is not as it shall be.
func groupTroubles(g *wire.MachineGroup) []string {
	var all []string
	for _, c := range g.Conditions {
		if c.Status != "True" && c.Message != "" {
			all = append(all, c.Message)
		}
	}
	if g.Error != "" {
		text := g.Error
		if g.Failures > 1 {
			text += fmt.Sprintf(" (%d times in a row)", g.Failures)
		}
		all = append(all, text)
	}
	return all
}
