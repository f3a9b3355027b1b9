package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) machineCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "machine COMMAND",
		Short: "Look at machines, and have them made, replaced and removed",
		Long: `For the machines that "berthd server --machines FILE" makes and looks after. How
many there are of what is said in that file, by groups of tenants; these commands
show how they are, and ask for single ones.

What is asked for is kept until it is done, also when another server leads by
then, so a command ends at once; "berth machine show" says what became of it. A
machine is named by its id, or by as much of its beginning as no other one has.`,
		Example: `  berth machine groups            # what there shall be, and what is
  berth machine list
  berth machine show wrk06h2r0gm  # a machine, with what happened to it
  berth machine rotate --group web
  berth machine delete wrk06h2r0gm`,
		SuggestionsMinimumDistance: 2,
		Args:                       knownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.machineGroupsCmd(), a.machineListCmd(), a.machineShowCmd(), a.machineCreateCmd(), a.machineRotateCmd(), a.machineDeleteCmd())
	return cmd
}

// onDaemon is a command on the daemon.
func (a *app) onDaemon(do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c := a.client()
		defer c.Close()
		return do(cmd.Context(), c, args)
	}
}

// completeMachines offers the machines there are.
func (a *app) completeMachines(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completeFirst(cmd, args, func(ctx context.Context, c *client.Client) ([]string, error) {
		list, err := c.Machines(ctx, false)
		var ids []string
		for _, m := range list.Machines {
			ids = append(ids, m.ID+"\t"+inert(m.Tenant+"/"+m.Group+", "+m.Status))
		}
		return ids, err
	})
}

// completeMachineGroups offers the groups there are.
func (a *app) completeMachineGroups(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completeFirst(cmd, args, func(ctx context.Context, c *client.Client) ([]string, error) {
		list, err := c.MachineGroups(ctx)
		var names []string
		for _, g := range list.Groups {
			names = append(names, g.Group+"\t"+g.Tenant)
		}
		return names, err
	})
}

var (
	_ completion = (*app)(nil).completeMachines
	_ completion = (*app)(nil).completeMachineGroups
)

// assignments are the values of a flag such as --var name=value.
type assignments map[string]string

// Set implements pflag.Value.
func (v *assignments) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("write NAME=VALUE")
	}
	if *v == nil {
		*v = assignments{}
	}
	(*v)[name] = value
	return nil
}

// Type implements pflag.Value.
func (*assignments) Type() string { return "NAME=VALUE" }

// String implements pflag.Value.
func (*assignments) String() string { return "" }

func (a *app) machineCreateCmd() *cobra.Command {
	var req wire.MachineCreateRequest
	var vars assignments
	cmd := &cobra.Command{
		Use:   "create GROUP",
		Short: "Ask for a machine of a group",
		Long: `Asks for a machine as the group has them, with variables of its own if any are
given, and prints the id that it will have.

Without --on-demand it counts like the others: a group that has as many as it
shall have lets its oldest go for it. With --on-demand it is beside the size,
nothing replaces it when it ends, and it stays until it is deleted or has the age
that the file of machines allows.`,
		Example: `  berth machine create web --on-demand
  berth machine create web --tenant acme --var role=batch --on-demand
  berth machine create web --on-demand -o json`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeMachineGroups,
		RunE: a.onDaemon(func(ctx context.Context, c *client.Client, args []string) error {
			req.Group, req.Vars = args[0], vars
			asked, err := c.CreateMachine(ctx, req)
			if err != nil {
				return err
			}
			return a.printAsked(asked, fmt.Sprintf("machine %s of %s/%s", strings.Join(asked.IDs, ", "), asked.Tenant, asked.Group))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&req.Tenant, "tenant", "", "whose group it is, where several have one of that name")
	f.Var(&vars, "var", "a variable for the user data; may be repeated")
	f.BoolVar(&req.OnDemand, "on-demand", false, "beside the size of the group, and never replaced")
	a.completeFlag(cmd, "tenant", cobra.NoFileCompletions)
	a.completeFlag(cmd, "var", cobra.NoFileCompletions)
	return cmd
}

func (a *app) machineRotateCmd() *cobra.Command {
	var group, tenant string
	cmd := &cobra.Command{
		Use:   "rotate [ID]",
		Short: "Have a machine, or all of a group, replaced",
		Long: `Asks for the replacement of a machine, or with --group of all machines of a group,
one after another: another one is made, registers and is heard of before the old
one is drained and goes. One that holds what would be lost stays, and the group
says so.`,
		Example: `  berth machine rotate wrk06h2r0gm
  berth machine rotate --group web --tenant acme
  berth machine groups             # how far it is`,
		Args:              takes(0, 1),
		ValidArgsFunction: a.completeMachines,
		RunE: a.onDaemon(func(ctx context.Context, c *client.Client, args []string) error {
			switch {
			case group == "" && len(args) == 0, group != "" && len(args) > 0:
				return usage("either one machine is replaced, or all of a group", "Write `berth machine rotate ID` or `berth machine rotate --group GROUP`.")
			case len(args) > 0:
				asked, err := c.RotateMachine(ctx, args[0])
				if err != nil {
					return err
				}
				return a.printAsked(asked, "another machine for "+strings.Join(asked.IDs, ", "))
			}
			asked, err := c.RotateMachineGroup(ctx, tenant, group)
			if err != nil {
				return err
			}
			return a.printAsked(asked, fmt.Sprintf("other machines for all %d of group %s", len(asked.IDs), asked.Group))
		}),
	}
	cmd.Flags().StringVar(&group, "group", "", "all machines of this group")
	cmd.Flags().StringVar(&tenant, "tenant", "", "whose group it is, where several have one of that name")
	a.completeFlag(cmd, "group", a.completeMachineGroups)
	a.completeFlag(cmd, "tenant", cobra.NoFileCompletions)
	return cmd
}

func (a *app) machineDeleteCmd() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "delete ID",
		Short: "Ask for the end of a machine",
		Long: `Asks for the end of a machine: what runs on it moves, for as long as its group
lets it drain, and then it goes. One that holds what would be lost is kept, and
"berth machine show" says what. With --force it goes at once, whatever it holds
and runs.

A group that has fewer machines than it shall have makes another one. To have
fewer, change the size in the file of machines.`,
		Example: `  berth machine delete wrk06h2r0gm
  berth machine delete wrk06h2r0gm --force`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeMachines,
		RunE: a.onDaemon(func(ctx context.Context, c *client.Client, args []string) error {
			asked, err := c.DeleteMachine(ctx, args[0], force)
			if err != nil {
				return err
			}
			return a.printAsked(asked, "the end of machine "+strings.Join(asked.IDs, ", "))
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "at once, whatever it holds and runs")
	return cmd
}

// printAsked says what is kept until it is done.
func (a *app) printAsked(asked wire.MachineAsked, what string) error {
	if a.json() {
		return a.printJSON(asked)
	}
	a.printf("%s %s\n", a.out.green("Asked for:"), what)
	if len(asked.IDs) == 1 {
		a.printf("%s\n", a.out.dim("`berth machine show "+asked.IDs[0]+"` says what becomes of it."))
	} else {
		a.printf("%s\n", a.out.dim("`berth machine groups` says how far it is."))
	}
	return nil
}
