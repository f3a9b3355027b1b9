package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/berth-cloud/berth/internal/spec"
	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

type restartInput struct {
	App  string `path:"app" maxLength:"128"`
	Body wire.RestartRequest
}

func (s *Server) registerRestart(r *registrar) {
	restart := op(http.MethodPost, "/v1/apps/{app}/restart", "restart", "Replace the containers of services by new ones of the same spec")
	restart.Description = "Every replica is rolled as by a change: a new one takes over once it is ready. Answers as apply does."
	register(r, RuleAdmin, restart, func(ctx context.Context, in *restartInput) (*changeOutput, error) {
		return s.answerChange(ctx, func() (wire.ChangeResult, error) { return s.restart(ctx, in.App, in.Body) })
	})
}

func (s *Server) restart(ctx context.Context, app string, req wire.RestartRequest) (wire.ChangeResult, error) {
	st, err := s.mustReadApp(ctx, app)
	if err != nil {
		return wire.ChangeResult{}, err
	}
	names := slices.Compact(slices.Sorted(slices.Values(req.Services)))
	if len(names) == 0 {
		names = st.names()
	}
	p := s.newPartial(st, store.AttemptRestart)
	for _, name := range names {
		current, ok := st.services[name]
		if !ok {
			return wire.ChangeResult{}, noSuchService(app, name)
		}
		p.restart(st, current)
	}
	return s.carryOut(ctx, p.finish(), consent{dryRun: req.DryRun, base: req.Base, interrupt: req.AllowInterrupt})
}

// restart plans that every container of a service be replaced.
func (p *planned) restart(st *appState, current serviceState) {
	now := &current.desired.Spec
	step := p.step(now.Name, wire.ActionRestart)
	d := current.desired
	d.RestartNonce = nextRestart(d.RestartNonce)
	if d.ReleaseID != "" && current.release != nil && current.release.ID == d.ReleaseID {
		// A new release of what a rollback chose. By the digest: the tag may lead
		// to the very image that was rolled back from.
		pinImages(&d, current.release)
		step.Notices = append(step.Notices, fmt.Sprintf("it was rolled back to %s and stays with its image; the next apply ends that", version(current.release.Version)))
	}
	d.ReleaseID = ""
	switch {
	case current.failed():
		step.Notices = append(step.Notices, "its last change failed, and what that asked for is tried again")
	case current.open():
		step.Notices = append(step.Notices, fmt.Sprintf("attempt %d on it still goes on; this one takes its place", current.last.AttemptID))
	}
	step.Interrupts = felt(current, now, true)
	p.put(d, step.Action)
	p.expect(current)
	p.plan.Services = append(p.plan.Services, step)
}

// pinImages names the images of all members as a release found them.
func pinImages(d *store.DesiredService, r *store.Release) {
	d.Image, d.Spec.Image = r.Resolved, r.Resolved
	found := map[string]string{}
	for _, m := range r.Members {
		found[m.Name] = m.Resolved
	}
	pin := func(members []spec.Member) []spec.Member {
		members = slices.Clone(members)
		for i := range members {
			members[i].Image = cmp.Or(found[members[i].Name], members[i].Image)
		}
		return members
	}
	d.Spec.Inits, d.Spec.Sidecars = pin(d.Spec.Inits), pin(d.Spec.Sidecars)
}

// nextRestart counts restarts. The count is part of a release's nonce, so each
// one makes new containers.
func nextRestart(nonce string) string {
	n, err := strconv.ParseUint(nonce, 10, 62)
	if err != nil {
		n = 0 // none yet
	}
	return strconv.FormatUint(n+1, 10)
}

// Restart replaces the containers of all services of an app, as the route does; whoever
// moves an app to other nodes calls it.
func (s *Server) Restart(ctx context.Context, app string) error {
	_, err := s.restart(ctx, app, wire.RestartRequest{AllowInterrupt: true})
	return err
}
