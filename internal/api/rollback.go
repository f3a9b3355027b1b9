package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/berth-cloud/berth/internal/store"
	"github.com/berth-cloud/berth/internal/wire"
)

// maxReleases bounds the history that is read or listed.
const maxReleases = 200

type rollbackInput struct {
	App  string `path:"app" maxLength:"128"`
	Body wire.RollbackRequest
}

func (s *Server) registerRollback(r *registrar) {
	rollback := op(http.MethodPost, "/v1/apps/{app}/rollback", "rollback", "Run an earlier release of a service again")
	rollback.Description = "Everything the release was made from comes back; replicas, routes and labels stay as they are. Answers as apply does."
	register(r, RuleAdmin, rollback, func(ctx context.Context, in *rollbackInput) (*changeOutput, error) {
		return s.answerChange(ctx, func() (wire.ChangeResult, error) { return s.rollback(ctx, in.App, in.Body) })
	})
}

func (s *Server) rollback(ctx context.Context, app string, req wire.RollbackRequest) (wire.ChangeResult, error) {
	st, err := s.readApp(ctx, app)
	switch {
	case err != nil:
		return wire.ChangeResult{}, err
	case st.app == nil:
		return wire.ChangeResult{}, noSuchApp(app)
	}
	current, ok := st.services[req.Service]
	if !ok {
		return wire.ChangeResult{}, noSuchService(app, req.Service)
	}
	releases, err := s.deps.Store.ListReleases(ctx, current.desired.Name, maxReleases)
	if err != nil {
		return wire.ChangeResult{}, fmt.Errorf("list the releases of %s: %w", current.desired.Name, err)
	}
	to, err := chooseRelease(current, releases, req.Release)
	if err != nil {
		return wire.ChangeResult{}, err
	}
	p := s.planRollback(st, current, to)
	if err := s.secretsBack(ctx, &p, current, to); err != nil {
		return wire.ChangeResult{}, err
	}
	return s.carryOut(ctx, p, consent{
		dryRun: req.DryRun, base: req.Base, interrupt: req.AllowInterrupt,
	})
}

// chooseRelease finds the release a rollback means. releases are newest first.
func chooseRelease(current serviceState, releases []store.Release, want string) (*store.Release, error) {
	full := current.desired.Name
	if want == "" || want == "previous" {
		return previousRelease(current, releases)
	}
	for i, r := range releases {
		if want == r.ID || strings.TrimPrefix(want, "v") == fmt.Sprint(r.Version) {
			return &releases[i], nil
		}
	}
	return nil, notFound(fmt.Sprintf("%s has no release %q", full, want),
		fmt.Sprintf("`berth releases %s/%s` lists those that are kept.", current.desired.AppID, current.desired.Spec.Name))
}

// previousRelease is the one to go back to. While the last change has not
// become active, that is the release which serves; after it did, the one that
// served before.
func previousRelease(current serviceState, releases []store.Release) (*store.Release, error) {
	none := notFound(fmt.Sprintf("%s has no earlier release", current.desired.Name),
		"A release is there to go back to once a second one has served.")
	if current.active == nil {
		return nil, none
	}
	want := current.active.PreviousID
	if current.last != nil && current.last.State != store.AttemptSucceeded && current.last.ReleaseID != current.active.ReleaseID {
		want = current.active.ReleaseID
	}
	for i := range releases {
		if releases[i].ID == want {
			return &releases[i], nil
		}
	}
	// The one recorded is gone or was never known: the newest one that is
	// older than what serves.
	if current.release != nil {
		for i := range releases {
			if releases[i].Version < current.release.Version {
				return &releases[i], nil
			}
		}
	}
	return nil, none
}
