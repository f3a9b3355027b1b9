package workloads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/berth-cloud/berth/id"
	"github.com/berth-cloud/berth/internal/wire"
	"github.com/berth-cloud/berth/internal/workfile"
	"github.com/berth-cloud/berth/provider"
	"github.com/berth-cloud/berth/provider/rollout"
)

// check asks a provider whether it can have services as they are wanted, without any
// effect: it asks for a release of an instance that does not exist, and a provider
// refuses what it cannot do before it looks for the instance. nil means that it
// refused nothing. The error is a *RefusedError, provider.ErrInvalid for a request that
// breaks a rule, or provider.ErrUnavailable when there was no answer in time.
func (s *Service) check(ctx context.Context, key string, wanted []provider.ServiceDeploySpec, how deployBounds) error {
	asked := ctx
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Patience)
	defer cancel()
	ctx, p, err := s.cfg.Registry.Acquire(ctx, key)
	if err != nil {
		return err
	}
	req := provider.DeployRequest{
		InstanceID: s.cfg.NewID(id.KindWorkload), ReleaseID: s.cfg.NewID(id.KindRelease), Services: wanted, Strategy: how.strategy, Rollout: how.bounds(),
	}
	if err := req.Validate(); err != nil {
		return err
	}
	if err := rollout.CheckStrategy(p, how.strategy); err != nil {
		out := &RefusedError{Provider: key, cause: err}
		if how.strategy != "" { // without one it takes no deploys at all
			out.Fields = []RefusedField{{Path: "strategy", Why: fmt.Sprintf("%s has no strategy %s", key, how.strategy)}}
		}
		return out
	}
	_, err = p.Deploy(ctx, req)
	switch {
	case asked.Err() != nil:
		return asked.Err()
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return noAnswer(s.cfg.Patience)
	case errors.Is(err, provider.ErrNotSupported), errors.Is(err, provider.ErrUnsupportedSource):
		return refused(key, wanted, err)
	}
	return nil
}

// refused names the services of the fields that a provider refuses.
func refused(key string, wanted []provider.ServiceDeploySpec, err error) *RefusedError {
	out := &RefusedError{Provider: key, cause: err}
	var fields interface{ Refused() []provider.Problem }
	if !errors.As(err, &fields) {
		return out
	}
	for _, f := range fields.Refused() {
		out.Fields = append(out.Fields, RefusedField{Path: f.Path, Why: f.Message})
		for i, d := range wanted {
			if rest, ok := strings.CutPrefix(f.Path, fmt.Sprintf("services[%d].", i)); ok {
				out.Fields[len(out.Fields)-1] = RefusedField{Service: d.Name, Path: rest, Why: f.Message}
			}
		}
	}
	return out
}

// RefusedError means that a provider cannot do what is asked of it. It is a
// provider.ErrNotSupported, or what else the provider said, and a *wire.Problem.
type RefusedError struct {
	Provider string
	Fields   []RefusedField // none when it did not say which

	file  *workfile.Workload // nil: no file asked for it
	cause error
}

// RefusedField is one value that a provider refuses.
type RefusedField struct {
	Service string // "" for what is not of one
	Path    string // that of package provider, below the service: "resources.disk_mb"
	Why     string
}

// Error says what is refused and why.
func (e *RefusedError) Error() string { return e.problem().Error() }

// Unwrap is the answer for a caller of the API, and what the provider said.
func (e *RefusedError) Unwrap() []error { return []error{e.problem(), e.cause} }

func (e *RefusedError) problem() *wire.Problem {
	p := &wire.Problem{
		Type: wire.ProblemNotSupported, Title: "The provider cannot do that", Status: http.StatusNotImplemented,
		Detail: fmt.Sprintf("the provider %s cannot do what is asked for", e.Provider),
		Hint:   "Nothing was changed. `berth workload providers` lists what each can do.",
	}
	switch {
	case len(e.Fields) == 1 && e.file == nil:
		p.Detail = fmt.Sprintf("the provider %s cannot do that: %s", e.Provider, e.Fields[0].Why)
		return p
	case len(e.Fields) == 0:
		p.Detail = fmt.Sprintf("the provider %s refuses: %s", e.Provider, plainText(e.cause.Error()))
	}
	for _, f := range e.Fields {
		place := e.file.Place(e.path(f))
		p.Errors = append(p.Errors, wire.ProblemError{File: place.File, Line: place.Line, Column: place.Column, Location: place.Path, Message: f.Why})
	}
	slices.SortStableFunc(p.Errors, func(a, b wire.ProblemError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return p
}

// path is that of a field in the request of the file.
func (e *RefusedError) path(f RefusedField) string {
	if f.Service == "" || e.file == nil {
		return strings.TrimPrefix(f.Service+"."+f.Path, ".")
	}
	for i, svc := range e.file.Request.Services {
		if svc.Name == f.Service {
			return fmt.Sprintf("services[%d].%s", i, f.Path)
		}
	}
	return f.Service + "." + f.Path
}

// inFile says where in a file the values are that a provider refuses.
func inFile(file *workfile.Workload, err error) error {
	var e *RefusedError
	if errors.As(err, &e) {
		e.file = file
	}
	return err
}
