package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// overview is the JSON of `berth status` without an app.
type overview struct {
	Daemon wire.Status       `json:"daemon"`
	Apps   []wire.AppSummary `json:"apps"`
}

func (a *app) statusCmd() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "status [APP]",
		Short: "Show apps, or one app in detail",
		Long: `Without an app: all apps, one a line. With one: each of its services, what serves,
and why it is not what was asked for, if it is not.

States: ready, deploying, degraded (it serves, but not what was asked for last),
failed (it does not serve), deleting. An app of which one service serves and another
has failed is degraded.`,
		Example: `  berth status
  berth status shop
  berth status shop -f       # follow the deploy that is going on`,
		Args:              takes(0, 1),
		ValidArgsFunction: a.completeApps,
		RunE: func(cmd *cobra.Command, args []string) error {
			c := a.client()
			defer c.Close()
			if len(args) == 0 {
				if follow {
					return usage("-f needs an app", "Write `berth status APP -f`.")
				}
				return a.printOverview(cmd.Context(), c)
			}
			name, err := appTarget(cmd, args[0])
			if err != nil {
				return err
			}
			return a.printApp(cmd.Context(), c, name, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow the attempt that is going on, and exit as apply does; if it has ended, exit as it ended")
	return cmd
}

func (a *app) printOverview(ctx context.Context, c *client.Client) error {
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	list, err := c.Apps(ctx)
	if err != nil {
		return err
	}
	if a.json() {
		return a.printJSON(overview{status, list.Apps})
	}
	if len(status.Listeners) == 0 {
		a.printf("%s\n", a.out.yellow("The data plane does not serve; `berth doctor` says why."))
	}
	if len(list.Apps) == 0 {
		a.printf("No apps yet. Write an app.yaml and run `berth apply`.\n")
		return nil
	}
	rows := [][]cell{a.header("APP", "STATE", "READY", "URL")}
	for _, s := range list.Apps {
		rows = append(rows, []cell{
			{s.Name, a.out.bold}, a.state(s.State), plain(fmt.Sprintf("%d/%d", s.Ready, s.Services)), plain(strings.Join(s.URLs, " ")),
		})
	}
	a.printf("%s", table(rows))
	return nil
}

func (a *app) printApp(ctx context.Context, c *client.Client, name string, follow bool) error {
	status, err := c.App(ctx, name)
	if err != nil {
		return err
	}
	if follow && status.LastAttempt != nil && !status.LastAttempt.State.Final() {
		return a.await(ctx, c, wire.Plan{App: name}, *status.LastAttempt)
	}
	if a.json() {
		if err := a.printJSON(status); err != nil {
			return err
		}
		return ended(status.LastAttempt, follow)
	}
	a.printf("%s  %s\n", a.out.bold("app "+name), a.state(status.State).String())
	if l := status.LastAttempt; l != nil {
		a.printf("last change: attempt %d, %s, %s, %s ago\n", l.ID, l.Kind, l.State, ago(a.env.Now().Sub(l.CreatedAt)))
	}
	a.printServices(status.Services)
	for _, t := range status.Tombstones {
		a.printf("%s is being removed", t.Service)
		if t.Failures > 0 {
			a.printf("; it failed %d times: %s", t.Failures, printable(t.LastCause))
		}
		a.printf("\n")
	}
	return ended(status.LastAttempt, follow)
}

// ended is how an attempt ended for one who wanted to follow it and came late.
func ended(last *wire.Attempt, follow bool) error {
	if !follow || last == nil || last.State == wire.AttemptSucceeded {
		return nil
	}
	return &failure{code: exitFailed, what: "the attempt did not succeed", quiet: true}
}

func (a *app) printServices(services []wire.ServiceStatus) {
	if len(services) == 0 {
		return
	}
	rows := [][]cell{a.header("SERVICE", "STATE", "SERVES", "REPLICAS", "IMAGE", "URL")}
	for _, s := range services {
		serves, running, image := "-", 0, s.Image
		if s.Active != nil {
			serves, running, image = s.Active.Release, len(s.Active.Targets), s.Active.Image
		}
		state, replicas := a.state(s.State), fmt.Sprintf("%d/%d", running, s.Replicas)
		if s.Completes { // nothing of it serves
			replicas = "-"
			if s.State == wire.StateReady {
				state.text = "completed"
			}
		}
		rows = append(rows, []cell{
			{s.Service, a.out.bold}, state, plain(serves), plain(replicas),
			plain(image), plain(strings.Join(s.URLs, " ")),
		})
	}
	lines := strings.SplitAfter(table(rows), "\n")
	a.printf("\n%s", lines[0])
	for i, s := range services {
		a.printf("%s", lines[i+1])
		if s.State != wire.StateReady {
			a.printWhy(s)
		}
		if text := rolledBack(s); text != "" {
			a.printf("    %s\n", a.out.dim(text))
		}
	}
}

// rolledBack says how a rollback that was asked for stands, or nothing.
func rolledBack(s wire.ServiceStatus) string {
	switch {
	case s.Pinned == "":
		return ""
	case s.Active != nil && s.Active.Release == s.Pinned:
		return "rolled back to " + s.Pinned + "; the next apply ends that"
	case s.State == wire.StateDeploying:
		return "being rolled back to " + s.Pinned
	}
	return "the rollback to " + s.Pinned + " has not come up"
}

// printWhy says why a service is not ready: how its last change ended, the
// conditions that are not true, and what a deploy waits for.
func (a *app) printWhy(s wire.ServiceStatus) {
	said := map[string]bool{}
	why := func(reason, message string) {
		text := reason
		if message != "" {
			text += ": " + message
		}
		if reason == "" || said[text] {
			return
		}
		said[text] = true
		a.printf("%s\n", indent("    ", printable(text)))
	}
	if s.LastAttempt != nil && s.LastAttempt.State == wire.AttemptFailed {
		why(s.LastAttempt.Reason, s.LastAttempt.Message)
	}
	for _, c := range s.Conditions {
		// While it is deploying it may well serve: what it waits for is in the
		// condition all the same.
		if c.Status != "True" || s.State == wire.StateDeploying {
			why(c.Reason, c.Message)
		}
	}
}

func (a *app) state(s wire.AppState) cell {
	paint := a.out.yellow
	switch s {
	case wire.StateReady:
		paint = a.out.green
	case wire.StateFailed:
		paint = a.out.red
	}
	return cell{string(s), paint}
}

// String is the cell's text in its colour.
func (c cell) String() string {
	if c.paint == nil {
		return c.text
	}
	return c.paint(c.text)
}
