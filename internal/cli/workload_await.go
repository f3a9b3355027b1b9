package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/berth-cloud/berth/internal/client"
	"github.com/berth-cloud/berth/internal/wire"
)

// awaitRollout follows a rollout to its end, prints what happens, and fails unless
// it succeeded.
func (a *app) awaitRollout(ctx context.Context, c *client.Client, change wire.WorkloadChange) error {
	p := a.newWorkloadProgress(change.Rollout)
	final, err := c.FollowWorkload(ctx, change.Name, p.show, p.lost)
	if errors.Is(err, context.Canceled) {
		return &failure{code: exitInterrupted, err: err,
			what: fmt.Sprintf("detached: rollout %d goes on without you", change.Rollout.Number),
			hint: fmt.Sprintf("Follow it with `berth workload status %s -f`.", change.Name)}
	}
	if err != nil {
		return err
	}
	ended := final.Rollout
	if ended == nil || ended.ID != change.Rollout.ID {
		// A later one has begun since; what became of ours is in the list.
		if ended, err = findRollout(ctx, c, change.Name, change.Rollout.ID); err != nil {
			return err
		}
	}
	if a.json() {
		change.Rollout = ended
		if err := a.printJSON(change); err != nil {
			return err
		}
	} else if ended.State == "succeeded" {
		a.printServing(final, *ended)
	}
	return a.rolloutOutcome(change.Name, *ended)
}

func findRollout(ctx context.Context, c *client.Client, name, id string) (*wire.WorkloadRollout, error) {
	list, err := c.WorkloadRollouts(ctx, name, "")
	if err != nil {
		return nil, err
	}
	for _, r := range list.Rollouts {
		if r.ID == id {
			return &r, nil
		}
	}
	return nil, &wire.Problem{Type: wire.ProblemNotFound, Title: "Not found", Detail: "the rollout is no longer kept"}
}

// printServing says what serves after a rollout.
func (a *app) printServing(w wire.WorkloadStatus, r wire.WorkloadRollout) {
	a.printf("%s  %s %s  %d/%d%s\n", a.out.green("ready"), a.out.bold(w.Name), r.Release, w.Serving, w.Replicas, endpoints(w))
	a.printf("%s rollout %d took %s.\n", a.out.green("Done:"), r.Number, r.EndedAt.Sub(r.CreatedAt).Round(100*time.Millisecond))
}

// endpoints are the ways in, for the end of a line.
func endpoints(w wire.WorkloadStatus) string {
	var urls []string
	for _, e := range w.Endpoints {
		urls = append(urls, e.URL)
	}
	if len(urls) == 0 {
		return ""
	}
	return "  " + strings.Join(urls, " ")
}

// rolloutOutcome is the error of a rollout that did not succeed.
func (a *app) rolloutOutcome(name string, r wire.WorkloadRollout) error {
	if r.State == "succeeded" {
		return nil
	}
	what := fmt.Sprintf("rollout %d of %s: %s", r.Number, r.Release, strings.ReplaceAll(r.State, "_", " "))
	if r.Failure != nil {
		what += ": " + r.Failure.Message
	}
	if r.UndoFailure != nil {
		what += "\nand the release before it did not come back: " + r.UndoFailure.Message
	}
	hint := fmt.Sprintf("`berth workload status %s` and `berth workload logs %s` say more.", name, name)
	if (r.State == "rolled_back" || r.State == "cancelled") && r.Base != "" {
		hint = fmt.Sprintf("%s serves. ", r.Base) + hint
	}
	return &failure{code: exitFailed, what: what, hint: hint, quiet: a.json()}
}

// workloadProgress prints what changes of a workload while a rollout goes on.
type workloadProgress struct {
	app   *app
	out   io.Writer
	began time.Time
	told  map[string]string // by service
	away  bool
}

func (a *app) newWorkloadProgress(r *wire.WorkloadRollout) *workloadProgress {
	p := &workloadProgress{app: a, out: a.env.Stdout, began: a.env.Now(), told: map[string]string{}}
	if a.json() {
		p.out = io.Discard
	}
	fmt.Fprintf(p.out, "rollout %d: %s of %s\n", r.Number, r.Kind, r.Release)
	return p
}

func (p *workloadProgress) show(w wire.WorkloadStatus) {
	p.away = false
	p.tell("", phaseWords[w.Rollout.Phase], lastError(w.Rollout))
	for _, s := range w.Rollout.Services {
		text := s.State
		if s.State == "running" {
			text = "on its way" // what its containers are is that of the release which serves
			if svc, ok := findService(w, s.Service); ok && svc.Reason != "" {
				text = svc.State + " (" + svc.Reason + ")"
			}
		}
		p.tell(s.Service, text, s.Message)
	}
}

// phaseWords say what a rollout is doing, by its phase.
var phaseWords = map[string]string{
	"": "waiting", "apply": "asking the provider", "await": "waiting until it is ready",
	"undo": "it failed; asking for the release before", "undo_await": "it failed; waiting for the release before",
}

func lastError(r *wire.WorkloadRollout) string {
	if r.LastError == "" {
		return ""
	}
	return "again soon: " + r.LastError
}

func findService(w wire.WorkloadStatus, name string) (wire.WorkloadService, bool) {
	for _, s := range w.Services {
		if s.Service == name {
			return s, true
		}
	}
	return wire.WorkloadService{}, false
}

// tell prints a line when it is another than the last of its service.
func (p *workloadProgress) tell(service, state, message string) {
	message, _, _ = strings.Cut(printable(message), "\n")
	text := state
	if message != "" {
		text += ": " + message
	}
	if p.told[service] == text {
		return
	}
	p.told[service] = text
	at := p.app.out.dim(fmt.Sprintf("%6.1fs", p.app.env.Now().Sub(p.began).Seconds()))
	if service != "" {
		text = p.app.out.bold(service) + " " + text
	}
	fmt.Fprintf(p.out, "%s  %s\n", at, text)
}

func (p *workloadProgress) lost(error) {
	if !p.away {
		fmt.Fprintf(p.out, "%s\n", p.app.out.yellow("the daemon is away; the rollout waits for it and so do we"))
	}
	p.away = true
}
