package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) nodeDoctorCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [NODE]",
		Short: "Find out which hop to a node is broken",
		Long: `Looks at each hop between the control plane and a container on a node, in their
order: the record of the machine, the registration of its agent, the agent's
connection to the server, its engine through that, the agent's connection to the
data plane. What failed says since when and what to
do; what comes after it is not looked at. Without a node, all are looked at.

The exit code is 1 when a hop of any of them failed; a warning alone is no failure.`,
		Example: `  berth node doctor web01
  berth node doctor -o json`,
		Args:              takes(0, 1),
		ValidArgsFunction: a.completeNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.client()
			defer c.Close()
			found, err := checkNodes(cmd.Context(), c, args)
			if err != nil {
				return err
			}
			if a.json() {
				err = a.printJSON(found)
			} else {
				a.printNodeDoctor(found)
			}
			for _, d := range found {
				if err == nil && d.Failing() != nil {
					err = &failure{code: exitFailed, what: "a hop failed", quiet: true}
				}
			}
			return err
		},
	}
}

// checkNodes looks at the node that is named, or at all. One that went away
// meanwhile is left out.
func checkNodes(ctx context.Context, c *client.Client, args []string) ([]wire.NodeDoctor, error) {
	if len(args) > 0 {
		one, err := c.CheckNode(ctx, args[0])
		return []wire.NodeDoctor{one}, err
	}
	list, err := c.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	found := []wire.NodeDoctor{}
	for _, n := range list.Nodes {
		one, err := c.CheckNode(ctx, n.ID)
		if exitCode(err) == exitNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, nil
}

func (a *app) printNodeDoctor(found []wire.NodeDoctor) {
	for i, d := range found {
		if i > 0 {
			a.printf("\n")
		}
		verdict := a.out.green("every hop works")
		if f := d.Failing(); f != nil {
			verdict = a.out.red("fails at " + inert(f.Hop))
		}
		a.printf("%s: %s\n", a.out.bold(inert(d.Node)), verdict)
		for _, c := range d.Checks {
			a.printNodeCheck(c)
		}
	}
}

func (a *app) printNodeCheck(c wire.NodeCheck) {
	mark, paint := "ok  ", a.out.green
	switch c.State {
	case wire.CheckWarning:
		mark, paint = "warn", a.out.yellow
	case wire.CheckFailed:
		mark, paint = "FAIL", a.out.red
	case wire.CheckSkipped:
		mark, paint = "-   ", a.out.dim
	}
	when := ""
	if !c.At.IsZero() {
		when = ", " + a.out.dim(a.moment(c))
	}
	a.printf("  %s  %s: %s%s\n", paint(mark), inert(c.Hop), printable(c.Message), when)
	if c.Fix != "" {
		a.printf("%s\n", indent("          ", printable(c.Fix)))
	}
}

// moment is when something was so, and how long it took to find out.
func (a *app) moment(c wire.NodeCheck) string {
	apart := a.env.Now().Sub(c.At)
	text := fmt.Sprintf("%s ago", ago(apart))
	if apart < 0 {
		text = "in " + ago(-apart)
	}
	if c.Took != "" {
		text += ", took " + inert(c.Took)
	}
	return text
}
