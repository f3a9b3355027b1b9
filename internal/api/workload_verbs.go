package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
)

type (
	workloadScaleInput struct {
		Name string `path:"name" maxLength:"128" doc:"Name of the workload."`
		Body wire.WorkloadScaleRequest
	}
	workloadAcceptedOutput struct {
		Status int
		Body   wire.WorkloadAccepted
	}
	workloadRolloutOutput struct{ Body wire.WorkloadRollout }
)

func (s *Server) registerWorkloadVerbs(r *registrar) {
	scale := op(http.MethodPost, "/v1/workloads/{name}/scale", "scale-workload", "Change the size of the main service")
	scale.Description = "The workload file is not touched, and the next apply of it sets its size again. A rollback brings back the size of its release. " + acceptAnswers
	register(r, RuleAdmin, scale, func(ctx context.Context, in *workloadScaleInput) (*workloadAcceptedOutput, error) {
		size := provider.ResourceSpec{Replicas: in.Body.Replicas, CPUMillis: in.Body.CPUMillis, MemoryMB: in.Body.MemoryMB}
		if size.IsZero() {
			return nil, s.asProblem(ctx, invalidRequest("the request says no size", "Give replicas, cpu_millis or memory_mb."))
		}
		return s.accepted(ctx, func(w Workloads) (wire.WorkloadAccepted, error) { return w.Scale(ctx, in.Name, size) })
	})
	verb := func(o huma.Operation, do func(Workloads, context.Context, string) (wire.WorkloadAccepted, error)) {
		o.Description = acceptAnswers
		register(r, RuleAdmin, o, func(ctx context.Context, in *workloadInput) (*workloadAcceptedOutput, error) {
			return s.accepted(ctx, func(w Workloads) (wire.WorkloadAccepted, error) { return do(w, ctx, in.Name) })
		})
	}
	verb(op(http.MethodPost, "/v1/workloads/{name}/start", "start-workload", "Start a stopped workload with the data it had"), Workloads.Start)
	verb(op(http.MethodPost, "/v1/workloads/{name}/stop", "stop-workload", "End the containers of a workload and keep its data"), Workloads.Stop)
	verb(op(http.MethodPost, "/v1/workloads/{name}/restart", "restart-workload", "Replace or restart the containers of a workload"), Workloads.Restart)
	verb(op(http.MethodDelete, "/v1/workloads/{name}", "delete-workload", "Remove a workload, its volumes included"), Workloads.Delete)
	register(r, RuleAdmin, op(http.MethodPost, "/v1/workloads/{name}/cancel", "cancel-workload-rollout", "Give up the rollout that is under way and return to what served"),
		func(ctx context.Context, in *workloadInput) (*workloadRolloutOutput, error) {
			out, err := askWorkloads(ctx, s, func(w Workloads) (wire.WorkloadRollout, error) { return w.Cancel(ctx, in.Name) })
			return &workloadRolloutOutput{out}, err
		})
}

const acceptAnswers = "Answers 200 once the provider has taken it in, and 202 when it is still at it after a while; the status of the workload says how that ends."

func (s *Server) accepted(ctx context.Context, do func(Workloads) (wire.WorkloadAccepted, error)) (*workloadAcceptedOutput, error) {
	out, err := askWorkloads(ctx, s, do)
	if err != nil {
		return nil, err
	}
	s.log.InfoContext(ctx, "workload request accepted", "workload", out.Name, "id", out.ID, "verb", out.Verb, "by", caller(ctx))
	status := http.StatusAccepted
	if out.Done {
		status = http.StatusOK
	}
	return &workloadAcceptedOutput{status, out}, nil
}
