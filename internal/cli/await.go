package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// await follows an attempt to its end, prints its steps and its outcome, and
// fails unless it succeeded.
func (a *app) await(ctx context.Context, c *client.Client, plan wire.Plan, at wire.Attempt) error {
	progress := newProgress(a, at)
	final, err := c.FollowAttempt(ctx, at.ID, 0, client.Follower{Trace: progress.trace, Lost: progress.lost})
	progress.stop()
	if errors.Is(err, context.Canceled) {
		return &failure{code: exitInterrupted, err: err,
			what: fmt.Sprintf("detached: attempt %d goes on without you", at.ID),
			hint: fmt.Sprintf("Follow it with `berth status %s -f`.", plan.App)}
	}
	if err != nil {
		return err
	}
	return a.outcome(ctx, c, plan, final, progress.started)
}

// outcome prints how an attempt ended. started are the services of which a
// container was started.
func (a *app) outcome(ctx context.Context, c *client.Client, plan wire.Plan, final wire.Attempt, started map[string]bool) error {
	if a.json() {
		if err := a.printJSON(wire.ChangeResult{Plan: plan, Attempt: &final}); err != nil {
			return err
		}
		if final.State != wire.AttemptSucceeded {
			return &failure{code: exitFailed, what: "the attempt did not succeed", quiet: true}
		}
		return nil
	}
	now := map[string]wire.ServiceStatus{}
	// Only for what to print beside the outcome; it stands without.
	if status, err := c.App(ctx, final.App); err == nil {
		for _, s := range status.Services {
			now[s.Service] = s
		}
	}
	for _, s := range final.Services {
		a.printOutcome(s, now)
	}
	took := final.FinishedAt.Sub(final.CreatedAt).Round(100 * time.Millisecond)
	switch final.State {
	case wire.AttemptSucceeded:
		a.printf("%s attempt %d took %s.\n", a.out.green("Done:"), final.ID, took)
		return nil
	case wire.AttemptSuperseded:
		return &failure{code: exitFailed, what: fmt.Sprintf("attempt %d was superseded by a later change", final.ID),
			hint: fmt.Sprintf("`berth status %s -f` follows that one.", final.App)}
	}
	return &failure{code: exitFailed, what: fmt.Sprintf("attempt %d failed after %s", final.ID, took),
		hint: advice(final, started)}
}

func (a *app) printOutcome(s wire.AttemptService, now map[string]wire.ServiceStatus) {
	status, exists := now[s.Service]
	switch {
	case s.State == wire.AttemptFailed:
		a.printf("%s %s: %s\n", a.out.red("failed"), a.out.bold(s.Service), s.Reason)
		if s.Message != "" {
			a.printf("%s\n", indent("    ", printable(s.Message)))
		}
		if exists && status.Active != nil && !status.Completes {
			still := "still serves"
			if len(status.Active.Targets) == 0 {
				still = "is started again"
			}
			a.printf("    %s %s.\n", status.Active.Release, still)
		}
	case s.State == wire.AttemptSuperseded:
		a.printf("%s %s\n", a.out.yellow("superseded"), a.out.bold(s.Service))
	case s.Action == wire.ActionDelete:
		a.printf("%s %s\n", a.out.green("removed"), a.out.bold(s.Service))
	default:
		line := a.out.green("ready") + "  " + a.out.bold(s.Service)
		if status.Completes {
			line = a.out.green("completed") + "  " + a.out.bold(s.Service)
		}
		release := s.Release
		if release == "" && exists && status.Active != nil {
			release = status.Active.Release
		}
		if release != "" {
			line += " " + release
		}
		if exists && len(status.URLs) > 0 {
			line += "  " + strings.Join(status.URLs, " ")
		}
		a.printf("%s\n", line)
	}
}

// reasonSecretMissing is the reason of a change that found a secret without a value.
const reasonSecretMissing = "RequiredSecretMissing"

// advice says where to look after a failure.
func advice(final wire.Attempt, started map[string]bool) string {
	for _, s := range final.Services {
		switch {
		case s.State != wire.AttemptFailed:
		case s.Reason == reasonSecretMissing:
			return fmt.Sprintf("`berth secret set %[1]s NAME` gives a secret its value, `berth secret list %[1]s` shows them. Then apply again.", final.App)
		case started[s.Service]:
			return fmt.Sprintf("What it printed: `berth logs %s/%s`. Correct it and apply again.", final.App, s.Service)
		}
	}
	return "Correct it and apply again."
}
