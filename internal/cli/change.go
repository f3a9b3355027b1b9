package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// changeFlags are those of every command that changes something.
type changeFlags struct {
	yes, dryRun, detach bool
}

func (f *changeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVarP(&f.yes, "yes", "y", false, "confirm that it interrupts or removes something")
	flags.BoolVar(&f.dryRun, "dry-run", false, "show what would change and change nothing")
	flags.BoolVar(&f.detach, "detach", false, "do not wait for the outcome")
}

// step is what a change call is asked for: first a dry run, then the change
// on the base the plan was made from.
type step struct {
	dryRun            bool
	base              wire.Base
	interrupt, remove bool
}

type changeCall func(ctx context.Context, s step) (wire.ChangeResult, error)

// change plans, shows, asks if it must, changes, and waits for the outcome.
func (a *app) change(ctx context.Context, c *client.Client, flags changeFlags, call changeCall) error {
	result, err := call(ctx, step{dryRun: true})
	if err != nil {
		return err
	}
	plan := result.Plan
	if !a.json() {
		a.printPlan(plan)
	}
	if flags.dryRun {
		return a.endDryRun(result)
	}
	if !plan.Changes {
		return a.endUnchanged(ctx, c, result, flags)
	}
	if (plan.Interrupts || plan.Removes) && !flags.yes {
		if err := a.confirm(plan); err != nil {
			return err
		}
	}
	result, err = call(ctx, step{base: plan.Base, interrupt: plan.Interrupts, remove: plan.Removes})
	if errors.Is(err, context.Canceled) {
		return &failure{code: exitInterrupted, what: "interrupted while the change was sent", err: err,
			hint: fmt.Sprintf("`berth status %s` says whether it was accepted.", plan.App)}
	}
	if err != nil {
		return err
	}
	if result.Attempt == nil { // made by somebody else between plan and change
		return a.endUnchanged(ctx, c, result, flags)
	}
	if flags.detach {
		return a.endDetached(result)
	}
	return a.await(ctx, c, result.Plan, *result.Attempt)
}

func (a *app) endDryRun(result wire.ChangeResult) error {
	if a.json() {
		return a.printJSON(result)
	}
	a.printf("Dry run: nothing was changed.\n")
	return nil
}

func (a *app) endDetached(result wire.ChangeResult) error {
	if a.json() {
		return a.printJSON(result)
	}
	a.printf("Attempt %d has begun. Follow it with `berth status %s -f`.\n", result.Attempt.ID, result.Plan.App)
	return nil
}

// endUnchanged ends a change that has nothing to do, after what an earlier one
// still does.
func (a *app) endUnchanged(ctx context.Context, c *client.Client, result wire.ChangeResult, flags changeFlags) error {
	if id := result.Plan.OpenAttempt; id != 0 && !flags.detach {
		open, err := c.Attempt(ctx, id)
		if err != nil {
			return err
		}
		if !a.json() {
			a.printf("Nothing to change, but attempt %d still goes on.\n", id)
		}
		return a.await(ctx, c, result.Plan, open)
	}
	if a.json() {
		return a.printJSON(result)
	}
	a.printf("Nothing to change.\n")
	return nil
}

// confirm asks whether a plan that interrupts or removes something shall be
// carried out, if somebody is there to answer.
func (a *app) confirm(plan wire.Plan) error {
	if a.json() {
		if err := a.printJSON(wire.ChangeResult{Plan: plan}); err != nil {
			return err
		}
	}
	return a.agree(consequences(plan), "Nothing was changed. Look at the plan, then run it again with --yes.")
}

// agree asks whether somebody wants what a command has as its consequence, such as
// "interrupts web". hint is for those who cannot be asked.
func (a *app) agree(what, hint string) error {
	if !a.env.StdinTTY || !a.env.StdoutTTY || a.json() {
		return &failure{code: exitConfirm, what: "not confirmed: " + what, hint: hint}
	}
	a.printf("%s Go on? [y/N] ", a.out.yellow("This "+what+"."))
	answer, _ := bufio.NewReader(a.env.Stdin).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &failure{code: exitConfirm, what: "not confirmed", hint: "Nothing was changed."}
}

// consequences is "interrupts web and removes worker".
func consequences(plan wire.Plan) string {
	var interrupted, removed []string
	for _, s := range plan.Services {
		if len(s.Interrupts) > 0 {
			interrupted = append(interrupted, s.Service)
		}
		if s.Action == wire.ActionDelete {
			removed = append(removed, s.Service)
		}
	}
	var parts []string
	if len(interrupted) > 0 {
		parts = append(parts, "interrupts "+strings.Join(interrupted, ", "))
	}
	if len(removed) > 0 {
		parts = append(parts, "removes "+strings.Join(removed, ", "))
	}
	return strings.Join(parts, " and ")
}
