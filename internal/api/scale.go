package api

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

type scaleInput struct {
	App  string `path:"app" maxLength:"128"`
	Body wire.ScaleRequest
}

func (s *Server) registerScale(r *registrar) {
	scale := op(http.MethodPost, "/v1/apps/{app}/scale", "scale", "Run other numbers of replicas")
	scale.Description = "The app file is not touched, and the next apply of it sets its numbers again. Answers as apply does."
	register(r, RuleAdmin, scale, func(ctx context.Context, in *scaleInput) (*changeOutput, error) {
		return s.answerChange(ctx, func() (wire.ChangeResult, error) { return s.scale(ctx, in.App, in.Body) })
	})
}

func (s *Server) scale(ctx context.Context, app string, req wire.ScaleRequest) (wire.ChangeResult, error) {
	st, err := s.mustReadApp(ctx, app)
	if err != nil {
		return wire.ChangeResult{}, err
	}
	names := slices.Sorted(maps.Keys(req.Replicas))
	for _, name := range names {
		if _, ok := st.services[name]; !ok {
			return wire.ChangeResult{}, noSuchService(app, name)
		}
	}
	if faults := scaleFaults(st, req.Replicas); len(faults) > 0 {
		p := invalidRequest(fmt.Sprintf("app %q cannot be scaled so", app), "Nothing was changed.")
		p.Errors = faults
		return wire.ChangeResult{}, p
	}
	p := s.newPartial(st, store.AttemptScale)
	for _, name := range names {
		p.scale(st.services[name], req.Replicas[name])
	}
	return s.carryOut(ctx, p.finish(), consent{dryRun: req.DryRun, base: req.Base, interrupt: req.AllowInterrupt})
}

// scaleFaults is everything that is wrong with numbers of replicas.
func scaleFaults(st *appState, replicas map[string]int) []wire.ProblemError {
	var faults []wire.ProblemError
	refuse := func(where, what, do string) {
		faults = append(faults, wire.ProblemError{Location: where, Message: what, Hint: do})
	}
	containers := 0
	for _, name := range st.names() {
		svc := st.services[name].desired.Spec
		n, asked := replicas[name]
		if !asked {
			containers += svc.Replicas * len(svc.Members())
			continue
		}
		containers += max(n, 0) * len(svc.Members())
		switch why := svc.Single(); {
		case n < 1:
			refuse(name, fmt.Sprintf("%d replicas: at least one runs", n), "to stop it, take it out of the app file and apply that")
		case n > spec.MaxReplicas:
			refuse(name, fmt.Sprintf("%d replicas: the most is %d", n, spec.MaxReplicas), fmt.Sprintf("write a number from 1 to %d", spec.MaxReplicas))
		case n > 1 && why != "":
			refuse(name, fmt.Sprintf("%d replicas run at once, and %s", n, why), "leave it at 1, or change that in the app file")
		}
	}
	if containers > spec.MaxContainers {
		refuse("", fmt.Sprintf("the services come to %d containers, and the most of one app is %d", containers, spec.MaxContainers), "make it several apps")
	}
	return faults
}

// scale plans that a service run another number of replicas.
func (p *planned) scale(current serviceState, replicas int) {
	now := &current.desired.Spec
	wanted := *now
	wanted.Replicas = replicas
	step := p.step(now.Name, changeAction(now, &wanted))
	step.Changes = fieldChanges(now, &wanted)
	if step.Action != wire.ActionUnchanged {
		step.Notices = append(step.Notices, "the app file is not touched; the next apply sets its number again")
		p.lightly(&step, current, &wanted)
		d := desired(p.plan.App, &wanted, &current.desired)
		p.put(d, step.Action)
		p.expect(current)
	}
	p.plan.Services = append(p.plan.Services, step)
}
