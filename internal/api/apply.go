package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/wire"
)

// maxApplyBody bounds an apply: a file of the largest size whose every byte is
// escaped in JSON, and the rest of the request.
const maxApplyBody = 6*spec.MaxSourceBytes + 64<<10

type applyInput struct{ Body wire.ApplyRequest }

type changeOutput struct {
	Status int
	Body   wire.ChangeResult
}

func (s *Server) registerApply(r *registrar) {
	apply := op(http.MethodPost, "/v1/apply", "apply", "Make an app what its file says")
	apply.Description = "Answers 200 with the plan when it was a dry run or nothing is to change, else 202 with the attempt that carries the plan out. A plan that interrupts or removes something is refused with the problem type needs-confirmation unless the request allows it."
	apply.MaxBodyBytes = maxApplyBody
	register(r, RuleAdmin, apply, func(ctx context.Context, in *applyInput) (*changeOutput, error) {
		return s.answerChange(ctx, func() (wire.ChangeResult, error) { return s.apply(ctx, in.Body) })
	})
}

func (s *Server) apply(ctx context.Context, req wire.ApplyRequest) (wire.ChangeResult, error) {
	opts := s.deps.Spec
	opts.File = req.Filename
	app, err := spec.Parse([]byte(req.Source), opts)
	if err != nil {
		return wire.ChangeResult{}, invalidSpec(err)
	}
	if req.App != "" && req.App != app.Name {
		return wire.ChangeResult{}, invalidRequest(
			fmt.Sprintf("the file describes app %q, not %q", app.Name, req.App), "Apply the file of the app you mean.")
	}
	st, err := s.readApp(ctx, app.Name)
	if err != nil {
		return wire.ChangeResult{}, err
	}
	if st.secrets, err = s.secretVersions(ctx, st); err != nil {
		return wire.ChangeResult{}, err
	}
	p := s.planApply(st, app, req.Refresh)
	if err := s.checkTaken(ctx, p); err != nil {
		return wire.ChangeResult{}, err
	}
	return s.carryOut(ctx, p, consent{
		dryRun: req.DryRun, base: req.Base, interrupt: req.AllowInterrupt, remove: req.AllowRemove,
	})
}

// consent is what the caller of a change has seen and accepts.
type consent struct {
	dryRun, interrupt, remove bool
	base                      wire.Base // nil: whatever there is
}

// carryOut writes a plan as an attempt if the caller consents to it.
func (s *Server) carryOut(ctx context.Context, p planned, c consent) (wire.ChangeResult, error) {
	result := wire.ChangeResult{Plan: p.plan}
	if err := checkBase(p.plan, c.base); err != nil {
		return result, err
	}
	if c.dryRun || !p.plan.Changes {
		return result, nil
	}
	if p.plan.Interrupts && !c.interrupt || p.plan.Removes && !c.remove {
		return result, needsConfirmation(p.plan, c.interrupt, c.remove)
	}
	p.change.Now = s.deps.Now()
	attempt, err := s.deps.Store.ApplyChange(ctx, p.change)
	if err != nil {
		return result, storeProblem(p.plan.App, err)
	}
	s.deps.Wake(slices.Sorted(maps.Keys(p.change.Actions))...)
	peer, _ := PeerFrom(ctx)
	s.log.InfoContext(ctx, "change accepted", "app", attempt.AppID, "kind", attempt.Kind, "attempt", attempt.ID, "uid", peer.UID)
	sent := wireAttempt(attempt)
	result.Attempt = &sent
	return result, nil
}

// checkBase refuses a change that was decided on another state than there is.
func checkBase(plan wire.Plan, base wire.Base) error {
	if base == nil {
		return nil
	}
	var differ []wire.ProblemError
	names := maps.Clone(base)
	maps.Copy(names, plan.Base)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if base[name] != plan.Base[name] {
			differ = append(differ, wire.ProblemError{
				Location: name, Message: fmt.Sprintf("is at generation %d, not %d", plan.Base[name], base[name]),
			})
		}
	}
	if len(differ) == 0 {
		return nil
	}
	p := conflict(fmt.Sprintf("app %q is no longer as it was when the plan was made", plan.App))
	p.Errors = differ
	return p
}

// answerChange turns the outcome of a change into the answer.
func (s *Server) answerChange(ctx context.Context, change func() (wire.ChangeResult, error)) (*changeOutput, error) {
	result, err := change()
	if err != nil {
		return nil, s.asProblem(ctx, err)
	}
	status := http.StatusOK
	if result.Attempt != nil {
		status = http.StatusAccepted
	}
	return &changeOutput{status, result}, nil
}
