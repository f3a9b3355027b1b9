package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

const (
	// comesWithin is how long a command waits for a workload to come to what was
	// asked for; what was asked for goes on.
	comesWithin = 10 * time.Minute
	looksEvery  = 250 * time.Millisecond
)

func (a *app) workloadScaleCmd() *cobra.Command {
	var detach bool
	var cpu, memory string
	cmd := &cobra.Command{
		Use:   "scale NAME [REPLICAS]",
		Short: "Change the size of a workload",
		Long: `Runs another number of groups, or gives the containers of the main service another
size: --cpu in cores (500m or 0.5), --memory in mebibytes or gibibytes (256Mi, 2Gi).
What is not named stays. "berth workload stop" runs nothing.

The workload file is not touched. The next apply of it sets its size again, and a
rollback that of its release.`,
		Example: `  berth workload scale shop 5
  berth workload scale shop --memory 512Mi --cpu 500m`,
		Args:              takes(1, 2),
		ValidArgsFunction: a.completeWorkloads,
		RunE: func(cmd *cobra.Command, args []string) error {
			req, err := readSize(args[1:], cpu, memory)
			if err != nil {
				return err
			}
			return a.onWorkload(func(ctx context.Context, c *client.Client, name string) error {
				_, err := c.ScaleWorkload(ctx, name, req)
				return a.came(ctx, c, name, detach, err, func(w wire.WorkloadStatus) bool {
					return w.Ready && (req.Replicas == 0 || w.Serving == req.Replicas)
				})
			})(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&cpu, "cpu", "", "cores of each container of the main service")
	f.StringVar(&memory, "memory", "", "memory of each container of the main service")
	addDetach(cmd, &detach)
	return cmd
}

func addDetach(cmd *cobra.Command, detach *bool) {
	cmd.Flags().BoolVar(detach, "detach", false, "do not wait until it is so")
}

// readSize reads what a scale asks for.
func readSize(args []string, cpu, memory string) (wire.WorkloadScaleRequest, error) {
	var req wire.WorkloadScaleRequest
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return req, usage(fmt.Sprintf("%q is no number of replicas", args[0]), "Write a number from 1; `berth workload stop` runs nothing.")
		}
		req.Replicas = n
	}
	var ok bool
	if cpu != "" {
		if req.CPUMillis, ok = milliCPU(cpu); !ok {
			return req, usage(fmt.Sprintf("--cpu %s is no number of cores", cpu), "Write 500m, 0.5 or 2.")
		}
	}
	if memory != "" {
		if req.MemoryMB, ok = mebibytes(memory); !ok {
			return req, usage(fmt.Sprintf("--memory %s is no amount", memory), "Write 256Mi or 2Gi.")
		}
	}
	if req == (wire.WorkloadScaleRequest{}) {
		return req, usage("nothing says what size", "Write a number of replicas, --cpu or --memory.")
	}
	return req, nil
}

func milliCPU(s string) (int, bool) {
	if text, milli := strings.CutSuffix(s, "m"); milli {
		n, err := strconv.Atoi(text)
		return n, err == nil && n > 0
	}
	f, err := strconv.ParseFloat(s, 64)
	n := int(f*1000 + 0.5)
	return n, err == nil && n > 0 && f < 1e6
}

func mebibytes(s string) (int, bool) {
	for unit, size := range map[string]int{"Mi": 1, "Gi": 1024} {
		if text, ok := strings.CutSuffix(s, unit); ok {
			n, err := strconv.Atoi(text)
			return n * size, err == nil && n > 0 && n < 1<<30/size
		}
	}
	return 0, false
}

// lifeVerb is a command that starts, stops or restarts a workload.
func (a *app) lifeVerb(verb, short, long string, call func(*client.Client, context.Context, string) (wire.WorkloadAccepted, error), is func(wire.WorkloadStatus) bool) *cobra.Command {
	var detach bool
	cmd := &cobra.Command{
		Use: verb + " NAME", Short: short, Long: long, Example: "  berth workload " + verb + " shop",
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeWorkloads,
		RunE: a.onWorkload(func(ctx context.Context, c *client.Client, name string) error {
			_, err := call(c, ctx, name)
			return a.came(ctx, c, name, detach, err, is)
		}),
	}
	addDetach(cmd, &detach)
	return cmd
}

func isReady(w wire.WorkloadStatus) bool { return w.Ready }

func (a *app) workloadStartCmd() *cobra.Command {
	return a.lifeVerb("start", "Start a stopped workload", `Starts a workload with the replicas and the data that it had, and waits until it is
ready.`, (*client.Client).StartWorkload, isReady)
}

func (a *app) workloadStopCmd() *cobra.Command {
	return a.lifeVerb("stop", "Stop a workload and keep its data", `Ends the containers of a workload, each within its stop grace. Volumes, releases and
the name stay.`, (*client.Client).StopWorkload, func(w wire.WorkloadStatus) bool { return w.State == "stopped" })
}

func (a *app) workloadRestartCmd() *cobra.Command {
	return a.lifeVerb("restart", "Restart the containers of a workload", `Replaces or restarts every container, without a gap in service where the strategy
allows, and waits until it is ready. A stopped workload is started.`, (*client.Client).RestartWorkload, isReady)
}

func (a *app) workloadDeleteCmd() *cobra.Command {
	var yes, detach bool
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "Remove a workload and its volumes",
		Long: `Removes everything of a workload: containers, networks, volumes with what is in
them, releases and the name. It is asked about on a terminal; elsewhere it is
refused with exit code 3 unless --yes is given.

What cannot be removed now is tried again until it is gone.`,
		Example: `  berth workload delete shop
  berth workload delete shop --yes --detach`,
		Args:              takes(1, 1),
		ValidArgsFunction: a.completeWorkloads,
		RunE: a.onWorkload(func(ctx context.Context, c *client.Client, name string) error {
			if _, err := c.Workload(ctx, name); err != nil {
				return err
			}
			if !yes {
				if err := a.agree("removes "+name+" and its volumes", "Nothing was changed. Run it again with --yes."); err != nil {
					return err
				}
			}
			accepted, err := c.DeleteWorkload(ctx, name)
			if err == nil && !detach {
				err = a.awaitDeleted(ctx, c, name, accepted.ID)
			}
			if err != nil {
				return err
			}
			if a.json() {
				return a.printJSON(accepted)
			}
			if detach {
				a.printf("%s is being removed.\n", a.out.bold(name))
			} else {
				a.printf("%s %s\n", a.out.green("removed"), a.out.bold(name))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "confirm that its volumes go, too")
	cmd.Flags().BoolVar(&detach, "detach", false, "do not wait until it is gone")
	return cmd
}

// came waits until a workload is as was asked for, and prints it. err is that of the
// request.
func (a *app) came(ctx context.Context, c *client.Client, name string, detach bool, err error, is func(wire.WorkloadStatus) bool) error {
	if err != nil {
		return err
	}
	if detach {
		if a.json() {
			w, err := c.Workload(ctx, name)
			if err != nil {
				return err
			}
			return a.printJSON(w)
		}
		a.printf("Accepted. `berth workload status %s` shows how it goes.\n", name)
		return nil
	}
	w, err := awaitWorkload(ctx, c, name, is)
	if err != nil {
		return err
	}
	return a.printWorkload(w)
}

// awaitWorkload looks until a workload is as wanted, or has failed.
func awaitWorkload(ctx context.Context, c *client.Client, name string, is func(wire.WorkloadStatus) bool) (wire.WorkloadStatus, error) {
	limited, cancel := context.WithTimeout(ctx, comesWithin)
	defer cancel()
	again := time.NewTicker(looksEvery)
	defer again.Stop()
	for {
		w, err := c.Workload(limited, name)
		switch {
		case err == nil && is(w):
			return w, nil
		case err == nil && w.Trouble != nil:
			return w, &failure{code: exitFailed, what: w.Trouble.Verb + " failed: " + w.Trouble.Message, hint: fmt.Sprintf("`berth workload status %s` says more.", name)}
		case err == nil && w.State == "failed":
			return w, &failure{code: exitFailed, what: fmt.Sprintf("workload %s failed: %s: %s", name, w.Reason, w.Message), hint: fmt.Sprintf("`berth workload status %s` says more.", name)}
		case err != nil && !errors.Is(err, client.ErrUnreachable):
			return w, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return w, ctx.Err()
		case <-limited.Done():
			return w, &failure{code: exitFailed, what: fmt.Sprintf("workload %s was not so within %s", name, comesWithin), hint: fmt.Sprintf("It goes on; `berth workload status %s` shows how.", name)}
		}
	}
}

// awaitDeleted looks until a workload is gone, or its name stands for another.
func (a *app) awaitDeleted(ctx context.Context, c *client.Client, name, id string) error {
	_, err := awaitWorkload(ctx, c, name, func(w wire.WorkloadStatus) bool { return w.ID != id })
	if client.IsProblem(err, wire.ProblemNotFound) {
		return nil
	}
	return err
}
