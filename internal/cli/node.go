package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) nodeCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node COMMAND",
		Short: "Look at the machines that apps run on, empty them, have hosts join",
		Long: `Shows the nodes, which are the machines that apps run on: this one, which is called
local, those that were created in groups, and hosts that joined. A node is named by
its id, by its name if it has one, or by as much of its id as no other has.`,
		Example: `  berth node list
  berth node drain web01 --wait     # move its apps, wait until they have moved
  berth node doctor web01           # which hop to it is broken
  berth node join --name attic      # have a host join that is there already`,
		SuggestionsMinimumDistance: 2,
		Args:                       knownCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.nodeListCmd(), a.nodeShowCmd(), a.nodeCordonCmd(), a.nodeUncordonCmd(), a.nodeDrainCmd(), a.nodeUndrainCmd(),
		a.nodeDoctorCmd(), a.nodeJoinCmd(), a.nodeRemoveCmd())
	return cmd
}

// onNode is a command on the node that its only argument names.
func (a *app) onNode(do func(ctx context.Context, c *client.Client, node string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c := a.client()
		defer c.Close()
		return do(cmd.Context(), c, args[0])
	}
}

// changeNode is a command that changes a node, and says how it is then.
func (a *app) changeNode(do func(context.Context, *client.Client, string) (wire.Node, error), say func(wire.Node)) func(*cobra.Command, []string) error {
	return a.onNode(func(ctx context.Context, c *client.Client, node string) error {
		n, err := do(ctx, c, node)
		if err != nil {
			return err
		}
		if a.json() {
			return a.printJSON(n)
		}
		say(n)
		return nil
	})
}

func (a *app) nodeListCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the nodes",
		Long: `Lists the nodes, this machine first. The state is online; recovering, while what
runs on a node that came back is looked at; offline, while it is not connected;
lost, once its apps were started elsewhere; gone, when its provider says that there
is no such machine. A node that is cordoned takes nothing new, one that is draining
is emptied.`,
		Example: `  berth node list
  berth node list -o json`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.client()
			defer c.Close()
			list, err := c.Nodes(cmd.Context())
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(list)
			}
			a.printNodes(list.Nodes)
			return nil
		},
	}
}

func (a *app) printNodes(nodes []wire.Node) {
	rows := [][]cell{a.header("NODE", "GROUP", "STATE", "SINCE", "USE", "APPS", "CONTAINERS", "ADDRESS", "VERSION")}
	for _, n := range nodes {
		since := "-"
		if !n.Since.IsZero() {
			since = ago(a.env.Now().Sub(n.Since))
		}
		rows = append(rows, []cell{
			{called(n), a.out.bold}, plain(dash(inert(n.Group))), a.nodeState(n), plain(since), a.nodeUse(n), plain(fmt.Sprint(len(n.Apps))),
			plain(fmt.Sprint(n.Containers)), plain(dash(inert(n.Address))), plain(dash(inert(n.Version))),
		})
	}
	a.printf("%s", table(rows))
}

// called is what people call a node: by its name when it has one.
func called(n wire.Node) string {
	if n.Name != "" {
		return inert(n.Name)
	}
	return inert(n.ID)
}

// nodeState is the state in the colour of how bad it is.
func (a *app) nodeState(n wire.Node) cell {
	text := inert(string(n.State))
	switch n.State {
	case wire.NodeOnline:
		return cell{text, a.out.green}
	case wire.NodeRecovering, wire.NodeOffline:
		return cell{text, a.out.yellow}
	}
	return cell{text, a.out.red}
}

// nodeUse is what people decided about a node.
func (a *app) nodeUse(n wire.Node) cell {
	switch {
	case n.Draining():
		return cell{"draining", a.out.yellow}
	case n.Cordoned:
		return cell{"cordoned", a.out.yellow}
	}
	return plain("-")
}

func (a *app) nodeShowCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "show NODE",
		Short: "Show a node, and the apps on it",
		Long: `Shows how a node is and since when, what it is called and labelled, and the apps on
it: those that can move to another node, and those that have to stay, with the
reason.`,
		Example: `  berth node show web01
  berth node show local -o json`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeNodes,
		RunE:              a.changeNode(func(ctx context.Context, c *client.Client, node string) (wire.Node, error) { return c.Node(ctx, node) }, a.printNode),
	}
}

func (a *app) printNode(n wire.Node) {
	line := func(name, text string) { a.printf("%s  %s\n", a.out.dim(fmt.Sprintf("%-10s", name)), text) }
	kind := map[wire.NodeKind]string{
		wire.NodeLocal: "the machine of the control plane", wire.NodeMachine: "a machine of group " + inert(n.Group), wire.NodeJoined: "a host that joined",
	}[n.Kind]
	line("node", fmt.Sprintf("%s, %s", a.out.bold(called(n)), kind))
	if n.Name != "" {
		line("id", inert(n.ID))
	}
	state := a.nodeState(n)
	text := state.paint(state.text)
	if !n.Since.IsZero() {
		text += ", " + a.since(n.Since)
	}
	if n.Why != "" {
		text += ": " + inert(n.Why)
	}
	line("state", text)
	switch {
	case n.Draining() && n.DrainBy.IsZero():
		line("draining", a.since(n.DrainingSince))
	case n.Draining():
		line("draining", fmt.Sprintf("%s, to be empty by %s", a.since(n.DrainingSince), utc(n.DrainBy)))
	case n.Cordoned:
		line("cordoned", "nothing new is placed on it")
	}
	if len(n.Labels) > 0 {
		line("labels", labelText(n.Labels))
	}
	line("address", dash(inert(n.Address)))
	line("agent", dash(inert(n.Version)))
	if len(n.Apps) == 0 {
		a.printf("\nNo apps are on it.\n")
		return
	}
	rows := [][]cell{a.header("APP", "CONTAINERS", "MOVES")}
	for _, on := range n.Apps {
		rows = append(rows, []cell{{inert(on.App), a.out.bold}, plain(fmt.Sprint(on.Containers)), a.moves(on)})
	}
	a.printf("\n%s", table(rows))
}

// moves says whether an app can leave its node, and where it goes.
func (a *app) moves(on wire.NodeApp) cell {
	switch {
	case on.Stays != "":
		return cell{"no: " + inert(on.Stays), a.out.yellow}
	case on.To != "":
		return plain("to " + inert(on.To))
	}
	return plain("yes")
}

// completeNodes offers the nodes, by what they are called.
func (a *app) completeNodes(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.completeFirst(cmd, args, func(ctx context.Context, c *client.Client) ([]string, error) {
		list, err := c.Nodes(ctx)
		var names []string
		for _, n := range list.Nodes {
			names = append(names, strings.TrimSpace(called(n)))
		}
		return names, err
	})
}

var _ completion = (*app)(nil).completeNodes
