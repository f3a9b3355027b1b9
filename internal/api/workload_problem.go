package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/berth-cloud/berth/internal/api/workloads"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/provider"
)

// workloadProblem makes a problem document of an error of package provider; nil of
// any other. Their texts hold no secret, as package provider promises.
func (s *Server) workloadProblem(ctx context.Context, err error) *wire.Problem {
	var shape *workloads.ShapeError
	var broken *provider.ValidationError
	switch {
	case errors.As(err, &shape):
		return shapeFixed(shape)
	case errors.As(err, &broken):
		return brokenRequest(broken)
	case errors.Is(err, provider.ErrInvalid):
		return invalidRequest(err.Error(), "Nothing was changed.")
	case errors.Is(err, provider.ErrProviderNotFound):
		return notFound(err.Error(), "`berth workload providers` lists those there are.")
	case errors.Is(err, provider.ErrNotFound):
		return notFound(err.Error(), "`berth workload list` lists the workloads there are.")
	case errors.Is(err, provider.ErrBusy):
		return &wire.Problem{
			Type: wire.ProblemRolloutOpen, Title: "A rollout is under way", Status: http.StatusConflict, Detail: err.Error(),
			Hint: "Wait for its end, or give it up with `berth workload cancel`.",
		}
	case errors.Is(err, provider.ErrConflict):
		return &wire.Problem{
			Type: wire.ProblemConflict, Title: "Not as it is now", Status: http.StatusConflict, Detail: err.Error(),
			Hint: "Nothing was changed. `berth workload status` says how the workload is.",
		}
	case errors.Is(err, provider.ErrNotSupported), errors.Is(err, provider.ErrUnsupportedSource):
		return &wire.Problem{
			Type: wire.ProblemNotSupported, Title: "The provider cannot do that", Status: http.StatusNotImplemented, Detail: err.Error(),
			Hint: "Nothing was changed. `berth workload providers` lists what each can do.",
		}
	case errors.Is(err, provider.ErrNoRecord):
		return &wire.Problem{
			Type: wire.ProblemNoRecord, Title: "No record of the workload", Status: http.StatusConflict, Detail: err.Error(),
			Hint: "It can be looked at, stopped, started and deleted; to change it, delete it and apply its file.",
		}
	case errors.Is(err, provider.ErrUnavailable):
		s.log.WarnContext(ctx, "a provider does not answer", "error", err)
		return busy(err.Error(), "Workloads go on meanwhile. `berth workload providers` says more; the request may be repeated.")
	}
	return nil
}

func shapeFixed(e *workloads.ShapeError) *wire.Problem {
	p := &wire.Problem{
		Type: wire.ProblemShapeFixed, Title: "The shape of a workload is fixed", Status: http.StatusConflict,
		Detail: "the file asks for another shape of workload " + e.Name + ", which no release can change",
		Hint:   "Nothing was changed. Give it another name, or delete the workload, with its volumes, and apply the file again.",
	}
	for _, d := range e.Differs {
		p.Errors = append(p.Errors, wire.ProblemError{Message: d})
	}
	return p
}

// brokenRequest lists every rule that a request breaks.
func brokenRequest(e *provider.ValidationError) *wire.Problem {
	p := invalidRequest(count(len(e.Problems), "problem")+" in what was asked for", "Nothing was changed.")
	for _, one := range e.Problems {
		p.Errors = append(p.Errors, wire.ProblemError{Location: one.Path, Message: one.Message})
	}
	return p
}
