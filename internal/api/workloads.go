package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/internal/workfile"
	"github.com/berth-cloud/berth/provider"
)

// Workloads is what the API asks about workloads. Its errors are those of package
// provider, and workloads.ShapeError. A workloads.Service is one.
type Workloads interface {
	Apply(ctx context.Context, file *workfile.Workload, with workloads.With) (wire.WorkloadChange, error)
	DeployImages(ctx context.Context, name string, images map[string]string, strategy string, with workloads.With) (wire.WorkloadChange, error)
	Rollback(ctx context.Context, name, release string, with workloads.With) (wire.WorkloadChange, error)
	Scale(ctx context.Context, name string, size provider.ResourceSpec) (wire.WorkloadAccepted, error)
	Start(ctx context.Context, name string) (wire.WorkloadAccepted, error)
	Stop(ctx context.Context, name string) (wire.WorkloadAccepted, error)
	Restart(ctx context.Context, name string) (wire.WorkloadAccepted, error)
	Delete(ctx context.Context, name string) (wire.WorkloadAccepted, error)
	Cancel(ctx context.Context, name string) (wire.WorkloadRollout, error)

	List(ctx context.Context) (wire.WorkloadList, error)
	Status(ctx context.Context, name string) (wire.WorkloadStatus, error)
	Releases(ctx context.Context, name, cursor string, limit int) (wire.WorkloadReleaseList, error)
	Rollouts(ctx context.Context, name, cursor string, limit int) (wire.WorkloadRolloutList, error)
	Providers(ctx context.Context) wire.ProviderList
	// SecretUses are the values of the vault that workloads name.
	SecretUses(ctx context.Context) ([]workloads.SecretUse, error)

	// Find refuses what does not exist before a stream of it is opened.
	Find(ctx context.Context, name, service string) error
	// Moved delivers a wake when there may be news, until stop is called.
	Moved(ctx context.Context, name string) (wake <-chan struct{}, stop func())
	Logs(ctx context.Context, name string, opts provider.LogOptions, fn func(provider.LogLine) error) error
	Exec(ctx context.Context, name string, req provider.ExecRequest) (code int, err error)
}

var _ Workloads = (*workloads.Service)(nil)

// maxWorkloadBody bounds an apply: a file and contents of the largest size, as JSON
// has them.
const maxWorkloadBody = 6*workfile.MaxSourceBytes + workfile.MaxFilesBytes/3*4 + workfile.MaxFiles*8<<10 + 64<<10

type (
	workloadInput struct {
		Name string `path:"name" maxLength:"128" doc:"Name of the workload."`
	}
	workloadPageInput struct {
		Name   string `path:"name" maxLength:"128" doc:"Name of the workload."`
		Cursor string `query:"cursor" maxLength:"128" doc:"Where the page begins: next of the page before; none: the first."`
		Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"How many entries."`
	}
	workloadApplyInput  struct{ Body wire.WorkloadApplyRequest }
	workloadDeployInput struct {
		Name string `path:"name" maxLength:"128" doc:"Name of the workload."`
		Body wire.WorkloadDeployRequest
	}
	workloadRollbackInput struct {
		Name string `path:"name" maxLength:"128" doc:"Name of the workload."`
		Body wire.WorkloadRollbackRequest
	}
	workloadChangeOutput struct {
		Status int
		Body   wire.WorkloadChange
	}
	workloadListOutput     struct{ Body wire.WorkloadList }
	workloadStatusOutput   struct{ Body wire.WorkloadStatus }
	workloadReleasesOutput struct{ Body wire.WorkloadReleaseList }
	workloadRolloutsOutput struct{ Body wire.WorkloadRolloutList }
	providersOutput        struct{ Body wire.ProviderList }
)

const changeAnswers = "Answers 200 when it was a dry run or nothing is to change, else 202 with the rollout that carries it out. While another rollout is under way it is refused with the problem type rollout-open."

func (s *Server) registerWorkloads(r *registrar) {
	apply := op(http.MethodPut, "/v1/workloads", "apply-workload", "Make a workload what its file says")
	apply.Description = "Creates the workload, or brings a release of what differs from the one that serves. " + changeAnswers + " What no release can change is refused with the problem type shape-fixed."
	apply.MaxBodyBytes = maxWorkloadBody
	register(r, RuleAdmin, apply, func(ctx context.Context, in *workloadApplyInput) (*workloadChangeOutput, error) {
		return answerWorkload(ctx, s, func(w Workloads) (wire.WorkloadChange, error) { return s.applyWorkload(ctx, w, in.Body) })
	})
	deploy := op(http.MethodPost, "/v1/workloads/{name}/deploy", "deploy-workload", "Bring a release with other images")
	deploy.Description = changeAnswers
	register(r, RuleAdmin, deploy, func(ctx context.Context, in *workloadDeployInput) (*workloadChangeOutput, error) {
		return answerWorkload(ctx, s, func(w Workloads) (wire.WorkloadChange, error) {
			return w.DeployImages(ctx, in.Name, in.Body.Images, in.Body.Strategy, s.with(ctx, in.Body.Notes, in.Body.DryRun))
		})
	})
	back := op(http.MethodPost, "/v1/workloads/{name}/rollback", "roll-back-workload", "Return to a release that served before")
	back.Description = changeAnswers
	register(r, RuleAdmin, back, func(ctx context.Context, in *workloadRollbackInput) (*workloadChangeOutput, error) {
		return answerWorkload(ctx, s, func(w Workloads) (wire.WorkloadChange, error) {
			return w.Rollback(ctx, in.Name, in.Body.Release, s.with(ctx, "", in.Body.DryRun))
		})
	})
	register(r, RuleAdmin, op(http.MethodGet, "/v1/workloads", "list-workloads", "All workloads, as their providers see them now"),
		func(ctx context.Context, _ *struct{}) (*workloadListOutput, error) {
			list, err := askWorkloads(ctx, s, func(w Workloads) (wire.WorkloadList, error) { return w.List(ctx) })
			return &workloadListOutput{list}, err
		})
	register(r, RuleAdmin, op(http.MethodGet, "/v1/workloads/{name}", "get-workload", "Everything known about a workload"),
		func(ctx context.Context, in *workloadInput) (*workloadStatusOutput, error) {
			status, err := askWorkloads(ctx, s, func(w Workloads) (wire.WorkloadStatus, error) { return w.Status(ctx, in.Name) })
			return &workloadStatusOutput{status}, err
		})
	register(r, RuleAdmin, op(http.MethodGet, "/v1/workloads/{name}/releases", "list-workload-releases", "The releases of a workload, newest first"),
		func(ctx context.Context, in *workloadPageInput) (*workloadReleasesOutput, error) {
			list, err := askWorkloads(ctx, s, func(w Workloads) (wire.WorkloadReleaseList, error) {
				return w.Releases(ctx, in.Name, in.Cursor, in.Limit)
			})
			return &workloadReleasesOutput{list}, err
		})
	register(r, RuleAdmin, op(http.MethodGet, "/v1/workloads/{name}/rollouts", "list-workload-rollouts", "The rollouts of a workload, newest first"),
		func(ctx context.Context, in *workloadPageInput) (*workloadRolloutsOutput, error) {
			list, err := askWorkloads(ctx, s, func(w Workloads) (wire.WorkloadRolloutList, error) {
				return w.Rollouts(ctx, in.Name, in.Cursor, in.Limit)
			})
			return &workloadRolloutsOutput{list}, err
		})
	register(r, RuleAdmin, op(http.MethodGet, "/v1/providers", "list-providers", "What workloads can run on, and whether it answers"),
		func(ctx context.Context, _ *struct{}) (*providersOutput, error) {
			list, err := askWorkloads(ctx, s, func(w Workloads) (wire.ProviderList, error) { return w.Providers(ctx), nil })
			return &providersOutput{list}, err
		})
}

// askWorkloads asks, and turns what fails into a problem document.
func askWorkloads[T any](ctx context.Context, s *Server, ask func(Workloads) (T, error)) (T, error) {
	var none T
	if s.deps.Workloads == nil {
		return none, s.asProblem(ctx, busy("this daemon has no providers", "Start it with one."))
	}
	out, err := ask(s.deps.Workloads)
	if err != nil {
		return none, s.asProblem(ctx, err)
	}
	return out, nil
}

// answerWorkload turns the outcome of a change into the answer.
func answerWorkload(ctx context.Context, s *Server, change func(Workloads) (wire.WorkloadChange, error)) (*workloadChangeOutput, error) {
	out, err := askWorkloads(ctx, s, change)
	if err != nil {
		return nil, err
	}
	status := http.StatusOK
	if out.Rollout != nil {
		status = http.StatusAccepted
		s.log.InfoContext(ctx, "workload change accepted", "workload", out.Name, "id", out.ID, "action", string(out.Action), "rollout", out.Rollout.ID, "by", caller(ctx))
	}
	return &workloadChangeOutput{status, out}, nil
}

func (s *Server) applyWorkload(ctx context.Context, w Workloads, req wire.WorkloadApplyRequest) (wire.WorkloadChange, error) {
	file, err := workfile.Parse([]byte(req.Source), workfile.Options{File: req.Filename, Files: req.Files})
	if err != nil {
		return wire.WorkloadChange{}, invalidFile("workload", err)
	}
	if req.Provider != "" {
		file.Provider = req.Provider
	}
	return w.Apply(ctx, file, s.with(ctx, req.Notes, req.DryRun))
}

func (s *Server) with(ctx context.Context, notes string, dryRun bool) workloads.With {
	return workloads.With{Initiator: caller(ctx), Notes: notes, DryRun: dryRun}
}

// caller names who calls, for people.
func caller(ctx context.Context) string {
	peer, ok := PeerFrom(ctx)
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("user %d", peer.UID)
}
