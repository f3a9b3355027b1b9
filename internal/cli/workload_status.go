package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

func (a *app) workloadListCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List workloads",
		Long: `Lists all workloads, one a line: what their providers see of them now, and the
release that serves.`,
		Example: `  berth workload list
  berth workload list -o json`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.client()
			defer c.Close()
			list, err := c.Workloads(cmd.Context())
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(list)
			}
			if len(list.Workloads) == 0 {
				a.printf("No workloads yet. Write a workload.yaml and run `berth workload apply`.\n")
				return nil
			}
			rows := [][]cell{a.header("WORKLOAD", "PROVIDER", "STATE", "READY", "RELEASE", "AGE", "URL")}
			for _, w := range list.Workloads {
				rows = append(rows, []cell{
					{w.Name, a.out.bold}, plain(w.Provider), a.workloadState(w.State, w.Reason), plain(fmt.Sprintf("%d/%d", w.Serving, w.Replicas)),
					plain(dash(w.Release)), plain(ago(a.env.Now().Sub(w.CreatedAt))), plain(strings.TrimSpace(endpoints(w))),
				})
			}
			a.printf("%s", table(rows))
			return nil
		},
	}
}

// workloadState is a state with its reason, in the colour of how bad it is.
func (a *app) workloadState(state, reason string) cell {
	text := state
	if reason != "" {
		text += " (" + reason + ")"
	}
	switch state {
	case "running":
		return cell{text, a.out.green}
	case "failed", "unknown":
		return cell{text, a.out.red}
	case "stopped":
		return plain(text)
	}
	return cell{text, a.out.yellow}
}

func (a *app) workloadStatusCmd() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show a workload in detail",
		Long: `Shows what the provider of a workload sees of it now, each service in each replica
with the reason why it is not ready, and the newest rollout.

States: provisioning, starting, running, stopping, stopped, failed, destroying;
unknown while the provider does not answer.`,
		Example: `  berth workload status shop
  berth workload status shop -f       # follow the rollout that is under way`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeWorkloads,
		RunE: a.onWorkload(func(ctx context.Context, c *client.Client, name string) error {
			w, err := c.Workload(ctx, name)
			if err != nil {
				return err
			}
			if follow && w.Rollout != nil {
				change := wire.WorkloadChange{Name: w.Name, ID: w.ID, Provider: w.Provider, Action: wire.WorkloadUnderWay, Rollout: w.Rollout}
				if !w.Rollout.Ended() {
					return a.awaitRollout(ctx, c, change)
				}
				if err := a.printWorkload(w); err != nil {
					return err
				}
				return a.rolloutOutcome(name, *w.Rollout)
			}
			return a.printWorkload(w)
		}),
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow the rollout that is under way, and exit as apply does; if it has ended, exit as it ended")
	return cmd
}

func (a *app) printWorkload(w wire.WorkloadStatus) error {
	if a.json() {
		return a.printJSON(w)
	}
	state := a.workloadState(w.State, w.Reason)
	if state.paint != nil {
		state.text = state.paint(state.text)
	}
	a.printf("%s  %s on %s  %s%s\n", a.out.bold(w.Name), w.Kind, w.Provider, state.text, endpoints(w))
	if w.Message != "" {
		a.printf("%s\n", indent("    ", printable(w.Message)))
	}
	if w.Release != "" {
		a.printf("  release %s serves\n", w.Release)
	}
	a.printNewestRollout(w.Rollout, w.Message)
	if w.Trouble != nil {
		a.printf("  %s %s failed %s ago: %s\n", a.out.red("trouble:"), w.Trouble.Verb, ago(a.env.Now().Sub(w.Trouble.At)), printable(w.Trouble.Message))
	}
	rows := [][]cell{a.header("SERVICE", "REPLICA", "STATE", "READY", "RESTARTS", "IMAGE")}
	for _, s := range w.Services {
		rows = append(rows, a.serviceRows(s)...)
	}
	a.printf("%s", table(rows))
	for _, s := range w.Services {
		a.printTroubles(s, w)
	}
	return nil
}

// serviceRows are a service in each of its replicas.
func (a *app) serviceRows(s wire.WorkloadService) [][]cell {
	name := s.Service
	if s.Role != "main" {
		name += " (" + s.Role + ")"
	}
	if len(s.Replicas) == 0 {
		return [][]cell{{{name, a.out.bold}, plain("-"), a.workloadState(s.State, s.Reason), plain(yesNo(s.Ready)), plain("-"), plain(s.Image)}}
	}
	var rows [][]cell
	for _, r := range s.Replicas {
		state := a.workloadState(r.State, r.Reason)
		if r.ExitCode != nil && *r.ExitCode != 0 {
			state.text += fmt.Sprintf(" exit %d", *r.ExitCode)
		}
		rows = append(rows, []cell{{name, a.out.bold}, plain(fmt.Sprint(r.Replica)), state, plain(yesNo(r.Ready)), plain(fmt.Sprint(r.Restarts)), plain(s.Image)})
	}
	return rows
}

// printTroubles says why replicas are not ready, as far as that was not said of the
// workload.
func (a *app) printTroubles(s wire.WorkloadService, w wire.WorkloadStatus) {
	said := map[string]bool{w.Message: true}
	for _, r := range s.Replicas {
		if r.Message != "" && !r.Ready && !said[r.Message] {
			said[r.Message] = true
			a.printf("%s.%d:\n%s\n", a.out.bold(s.Service), r.Replica, indent("    ", printable(r.Message)))
		}
	}
	if s.Message != "" && !s.Ready && !said[s.Message] {
		a.printf("%s:\n%s\n", a.out.bold(s.Service), indent("    ", printable(s.Message)))
	}
}

// printNewestRollout leaves out a failure that was said already.
func (a *app) printNewestRollout(r *wire.WorkloadRollout, said string) {
	switch {
	case r == nil:
		return
	case !r.Ended():
		a.printf("  rollout %d of %s: %s\n", r.Number, r.Release, a.out.yellow(phaseWords[r.Phase]))
	case r.State != "succeeded":
		a.printf("  rollout %d of %s: %s\n", r.Number, r.Release, a.out.red(strings.ReplaceAll(r.State, "_", " ")))
	}
	if r.Failure != nil && (said == "" || !strings.HasSuffix(r.Failure.Message, said)) {
		a.printf("%s\n", indent("    ", printable(r.Failure.Message)))
	}
	if r.LastError != "" && !r.Ended() {
		a.printf("%s\n", indent("    ", printable(r.LastError)))
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (a *app) workloadReleasesCmd() *cobra.Command {
	var rollouts bool
	cmd := &cobra.Command{
		Use:   "releases NAME",
		Short: "List the releases of a workload",
		Long: `Lists the releases that are kept, newest first: what a workload ran, runs or was to
run. With --rollouts it lists the ways from one to another, and how each ended.`,
		Example: `  berth workload releases shop
  berth workload releases shop --rollouts`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeWorkloads,
		RunE: a.onWorkload(func(ctx context.Context, c *client.Client, name string) error {
			if rollouts {
				return a.printRollouts(ctx, c, name)
			}
			return a.printWorkloadReleases(ctx, c, name)
		}),
	}
	cmd.Flags().BoolVar(&rollouts, "rollouts", false, "list rollouts instead")
	return cmd
}

func (a *app) printWorkloadReleases(ctx context.Context, c *client.Client, name string) error {
	list, err := c.WorkloadReleases(ctx, name, "")
	if err != nil {
		return err
	}
	if a.json() {
		return a.printJSON(list)
	}
	rows := [][]cell{a.header("RELEASE", "SERVES", "AGE", "IMAGES", "NOTES")}
	for _, r := range list.Releases {
		serves := ""
		switch {
		case r.Current:
			serves = "yes"
		case r.ServedAt.IsZero():
			serves = "never did"
		}
		var images []string
		for _, service := range slices.Sorted(maps.Keys(r.Images)) {
			images = append(images, service+"="+r.Images[service])
		}
		rows = append(rows, []cell{
			plain(r.Version), plain(serves), plain(ago(a.env.Now().Sub(r.CreatedAt))), plain(strings.Join(images, " ")), plain(printable(r.Notes)),
		})
	}
	a.printf("%s", table(rows))
	return nil
}

func (a *app) printRollouts(ctx context.Context, c *client.Client, name string) error {
	list, err := c.WorkloadRollouts(ctx, name, "")
	if err != nil {
		return err
	}
	if a.json() {
		return a.printJSON(list)
	}
	rows := [][]cell{a.header("ROLLOUT", "KIND", "RELEASE", "FROM", "STATE", "AGE", "BY", "WHY")}
	for _, r := range list.Rollouts {
		why := ""
		if r.Failure != nil {
			why, _, _ = strings.Cut(printable(r.Failure.Message), "\n")
		}
		rows = append(rows, []cell{
			plain(fmt.Sprint(r.Number)), plain(r.Kind), plain(r.Release), plain(dash(r.Base)), plain(strings.ReplaceAll(r.State, "_", " ")),
			plain(ago(a.env.Now().Sub(r.CreatedAt))), plain(r.Initiator), plain(why),
		})
	}
	a.printf("%s", table(rows))
	return nil
}

func (a *app) workloadProvidersCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "providers",
		Short: "List what workloads can run on",
		Long: `Lists the providers: what orchestrator each one drives, whether that answers and how
fast, and what it can do. The default one takes workloads that name none.`,
		Example: `  berth workload providers
  berth workload providers -o json`,
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := a.client()
			defer c.Close()
			list, err := c.Providers(cmd.Context())
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(list)
			}
			rows := [][]cell{a.header("PROVIDER", "TYPE", "HEALTHY", "LATENCY", "MESSAGE", "CAN")}
			for _, p := range list.Providers {
				name, healthy := p.Name, cell{"yes", a.out.green}
				if p.Default {
					name += " (default)"
				}
				if !p.Healthy {
					healthy = cell{"no", a.out.red}
				}
				rows = append(rows, []cell{
					{name, a.out.bold}, plain(p.Type), healthy, plain(fmt.Sprintf("%dms", p.LatencyMS)), plain(printable(p.Message)), plain(strings.Join(p.Capabilities, " ")),
				})
			}
			a.printf("%s", table(rows))
			return nil
		},
	}
}
