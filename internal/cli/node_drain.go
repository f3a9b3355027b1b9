package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) nodeCordonCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "cordon NODE",
		Short: "Place nothing new on a node",
		Long: `Has nothing new be placed on a node. What runs on it goes on, and is changed there
as before. It lasts, also over restarts of the daemon, until "berth node uncordon".`,
		Example:           `  berth node cordon web01`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeNodes,
		RunE: a.changeNode(func(ctx context.Context, c *client.Client, node string) (wire.Node, error) {
			return c.SetCordon(ctx, node, true)
		}, func(n wire.Node) {
			a.printf("%s nothing new is placed on %s; what runs on it goes on.\n", a.out.green("Cordoned:"), a.out.bold(called(n)))
		}),
	}
}

func (a *app) nodeUncordonCmd() *cobra.Command {
	return &cobra.Command{
		Use:               "uncordon NODE",
		Short:             "Let a node be used again",
		Long:              `Lets new apps and replicas be placed on a node again. Nothing moves by it.`,
		Example:           `  berth node uncordon web01`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeNodes,
		RunE: a.changeNode(func(ctx context.Context, c *client.Client, node string) (wire.Node, error) {
			return c.SetCordon(ctx, node, false)
		}, func(n wire.Node) {
			a.printf("%s %s is used again.\n", a.out.green("Uncordoned:"), a.out.bold(called(n)))
			if n.Draining() {
				a.printf("%s\n", a.out.yellow("It is still being drained; `berth node undrain "+called(n)+"` ends that."))
			}
		}),
	}
}

func (a *app) nodeUndrainCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "undrain NODE",
		Short: "End the emptying of a node",
		Long: `Ends what "berth node drain" began. Apps that have moved stay where they are; new
ones may be placed on the node again, unless it is cordoned too.`,
		Example:           `  berth node undrain web01`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeNodes,
		RunE: a.changeNode(func(ctx context.Context, c *client.Client, node string) (wire.Node, error) {
			return c.UndrainNode(ctx, node)
		}, func(n wire.Node) {
			a.printf("%s %s is not emptied any more. What has moved stays where it is.\n", a.out.green("Undrained:"), a.out.bold(called(n)))
		}),
	}
}

// maxDrain bounds the deadline of a drain.
const maxDrain = 7 * 24 * time.Hour

func (a *app) nodeDrainCmd() *cobra.Command {
	var deadline time.Duration
	var wait bool
	cmd := &cobra.Command{
		Use:   "drain NODE",
		Short: "Move the apps of a node to others",
		Long: `Has the apps of a node be moved to other nodes: each is made anew elsewhere, takes
over once it is ready, and goes here, with no request dropped. Apps that have
volumes stay, as their data is on this node alone; they are named with the reason.

The command returns once it has begun; with --wait it follows until nothing is left
that can move, and fails with exit code 1 if the deadline passes before. Nothing
new is placed on the node until "berth node undrain".`,
		Example: `  berth node drain web01
  berth node drain web01 --deadline 10m --wait`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeNodes,
		RunE: a.onNode(func(ctx context.Context, c *client.Client, node string) error {
			if deadline < 0 || deadline > maxDrain {
				return usage(fmt.Sprintf("--deadline %s is out of range", deadline), "Write a time up to 168h, or leave it out for none.")
			}
			plan, err := c.DrainNode(ctx, node, deadline)
			if err != nil {
				return err
			}
			if !wait && a.json() {
				return a.printJSON(plan)
			}
			if !a.json() {
				a.printDrain(plan)
			}
			if wait {
				return a.awaitDrain(ctx, c, plan)
			}
			return nil
		}),
	}
	cmd.Flags().DurationVar(&deadline, "deadline", 0, "within what time it is to be empty (default: no bound)")
	cmd.Flags().BoolVar(&wait, "wait", false, "follow until nothing is left that can move")
	cmd.Flags().Lookup("deadline").DefValue = ""
	a.completeFlag(cmd, "deadline", cobra.NoFileCompletions)
	return cmd
}

func (a *app) printDrain(plan wire.DrainPlan) {
	by := ""
	if !plan.By.IsZero() {
		by = ", to be empty by " + utc(plan.By)
	}
	a.printf("%s is being drained%s.\n", a.out.bold(inert(plan.Node)), by)
	for _, m := range plan.Moves {
		to := ""
		if m.To != "" {
			to = " to " + inert(m.To)
		}
		a.printf("  %s %s%s\n", a.out.green("moves"), inert(m.App), to)
	}
	for _, s := range plan.Stays {
		a.printf("  %s %s: %s\n", a.out.yellow("stays"), inert(s.App), inert(s.Stays))
	}
	if len(plan.Moves)+len(plan.Stays) == 0 {
		a.printf("  No apps are on it.\n")
	}
}

const (
	drainLook   = time.Second // how often a node that is emptied is looked at
	drainMisses = 60          // how many looks in a row may find no daemon
)

// awaitDrain follows a drain until nothing is left that can move.
func (a *app) awaitDrain(ctx context.Context, c *client.Client, plan wire.DrainPlan) error {
	look := time.NewTicker(drainLook)
	defer look.Stop()
	left, missed := map[string]bool{}, 0
	for _, m := range plan.Moves {
		left[m.App] = true
	}
	for {
		n, err := c.Node(ctx, plan.Node)
		switch {
		case errors.Is(err, context.Canceled):
			return a.drainGoesOn(plan.Node, err)
		case errors.Is(err, client.ErrUnreachable) && missed < drainMisses:
			missed++ // the daemon may be starting anew; the drain is written down
		case err != nil:
			return err
		default:
			missed = 0
			done, err := a.drainProgress(n, plan, left)
			if done || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return a.drainGoesOn(plan.Node, ctx.Err())
		case <-look.C:
		}
	}
}

func (a *app) drainGoesOn(node string, err error) error {
	return &failure{code: exitInterrupted, err: err, what: "detached: the drain goes on without you",
		hint: fmt.Sprintf("Look at it with `berth node show %s`; `berth node undrain %s` ends it.", inert(node), inert(node))}
}

// drainProgress prints what has moved since the last look. It is true at the end.
func (a *app) drainProgress(n wire.Node, plan wire.DrainPlan, left map[string]bool) (bool, error) {
	moving := n.Moving()
	there := map[string]bool{}
	for _, m := range moving {
		there[m.App] = true
	}
	for _, m := range plan.Moves {
		if left[m.App] && !there[m.App] {
			delete(left, m.App)
			if !a.json() {
				a.printf("  %s %s\n", a.out.green("moved"), inert(m.App))
			}
		}
	}
	show := fmt.Sprintf("`berth node show %s` says more.", called(n))
	switch {
	case len(moving) == 0:
		return true, a.drained(n)
	case !n.Draining():
		return true, &failure{code: exitConflict, what: "somebody ended the drain of " + called(n), hint: show}
	case n.State == wire.NodeLost || n.State == wire.NodeGone:
		return true, &failure{code: exitFailed, what: fmt.Sprintf("%s is %s; its apps are started elsewhere", called(n), n.State), hint: show}
	case !plan.By.IsZero() && a.env.Now().After(plan.By):
		return true, &failure{code: exitFailed, what: fmt.Sprintf("the deadline has passed, and %s on %s", areLeft(moving), called(n)), hint: show}
	}
	return false, nil
}

func (a *app) drained(n wire.Node) error {
	switch {
	case a.json():
		return a.printJSON(n)
	case len(n.Apps) == 0:
		a.printf("%s %s is empty.\n", a.out.green("Done:"), a.out.bold(called(n)))
	default:
		have := "have"
		if len(n.Apps) == 1 {
			have = "has"
		}
		a.printf("%s %s, which %s to stay.\n", a.out.green("Done:"), areLeft(n.Apps), have)
	}
	return nil
}

// areLeft names apps: "shop and blog are left".
func areLeft(apps []wire.NodeApp) string {
	names := make([]string, 0, len(apps))
	for _, on := range apps {
		names = append(names, inert(on.App))
	}
	if len(names) == 1 {
		return names[0] + " is left"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " are left"
}
